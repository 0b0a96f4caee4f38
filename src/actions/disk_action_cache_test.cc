#include "actions/disk_action_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actions/entry_file.h"
#include "casemate/stores.h"
#include "files/sys.h"
#include "testing/store_helpers.h"
#include "testing/temp_dir.h"

namespace casemate::actions {
namespace {

namespace fs = std::filesystem;
using files::sys::Call;
using files::sys::FaultInjector;
using testing::DigestOf;

// Stands where it is put.
class FakeClock : public base::Clock {
 public:
  std::chrono::steady_clock::time_point Now() const override { return {}; }
  std::chrono::system_clock::time_point WallNow() const override {
    return std::chrono::system_clock::now() + ahead;
  }
  std::chrono::hours ahead{0};
};

ActionKey Key(const std::string& action) { return {"i", DigestOf(action)}; }
Bytes Text(std::string text) { return Bytes::FromString(std::move(text)); }

class Scene {
 public:
  std::unique_ptr<ActionCache> Open(bool durable = true) const {
    return DiskActionCache::Open(path(), durable, clock).value();
  }
  std::string path() const { return dir_ / "store"; }
  std::string PathOf(const ActionKey& key) const {
    return path() + "/" + EntryFolder(key) + "/" + EntryName(key);
  }
  size_t CountFiles(const std::string& folder) const {
    size_t count = 0;
    if (!fs::exists(path() + "/" + folder)) return 0;
    for (const auto& each :
         fs::recursive_directory_iterator(path() + "/" + folder)) {
      count += each.is_regular_file();
    }
    return count;
  }

  FakeClock clock;

 private:
  testing::TempDir dir_;

 public:
  const std::unique_ptr<DiskStore> store = DiskStore::Open(path()).value();
};

size_t CountDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& each :
       fs::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

Code CodeOf(ActionCache& cache, const ActionKey& key) {
  const auto result = cache.Get({}, key);
  return result ? Code::kOk : result.error().code;
}

TEST(DiskActionCache, FindsItsEntriesAgain) {
  Scene scene;
  ASSERT_TRUE(scene.Open()->Update({}, Key("a"), Text("result")));
  EXPECT_EQ(scene.Open()->Get({}, Key("a"))->view(), "result");
}

TEST(DiskActionCache, OpensNoFolderThatIsNoStore) {
  testing::TempDir dir;
  EXPECT_EQ(OpenDiskActionCache(dir.path(), true).error().code,
            Code::kFailedPrecondition);
  EXPECT_FALSE(OpenDiskActionCache(dir / "nothing", true));
}

TEST(DiskActionCache, ADamagedEntryIsAbsentAndReplacedByTheNextUpdate) {
  Scene scene;
  const auto cache = scene.Open();
  ASSERT_TRUE(cache->Update({}, Key("a"), Text("result")));
  const std::string good = testing::ReadFile(scene.PathOf(Key("a")));
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() - 1), good + "x",
        good.substr(0, good.size() - 1) + "T"}) {
    fs::remove(scene.PathOf(Key("a")));
    testing::WriteFile(scene.PathOf(Key("a")), bad);
    EXPECT_EQ(CodeOf(*cache, Key("a")), Code::kNotFound);
  }
  ASSERT_TRUE(cache->Update({}, Key("a"), Text("result")));
  EXPECT_EQ(CodeOf(*cache, Key("a")), Code::kOk);
}

TEST(DiskActionCache, AnEntryUnderAnothersNameIsAbsent) {
  Scene scene;
  const auto cache = scene.Open();
  ASSERT_TRUE(cache->Update({}, Key("a"), Text("result")));
  ASSERT_TRUE(cache->Update({}, Key("b"), Text("result")));
  fs::rename(scene.PathOf(Key("a")), scene.PathOf(Key("b")));
  EXPECT_EQ(CodeOf(*cache, Key("b")), Code::kNotFound);
}

TEST(DiskActionCache, FollowsNoLinkAndOpensNoFifo) {
  Scene scene;
  const auto cache = scene.Open();
  const std::string path = scene.PathOf(Key("a"));
  ASSERT_TRUE(cache->Update({}, Key("a"), Text("result")));
  fs::rename(path, path + "x");
  fs::create_symlink(path + "x", path);
  EXPECT_EQ(CodeOf(*cache, Key("a")), Code::kNotFound);
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(CodeOf(*cache, Key("a")), Code::kNotFound);
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(CodeOf(*cache, Key("a")), Code::kNotFound);
}

TEST(DiskActionCache, LeadsNoUpdateOutOfTheStore) {
  Scene scene;
  testing::TempDir outside;
  const auto cache = scene.Open();
  fs::create_directory_symlink(outside.path(), scene.path() + "/ac");
  EXPECT_FALSE(cache->Update({}, Key("a"), Text("result")));
  EXPECT_NE(CodeOf(*cache, Key("a")), Code::kOk);
  EXPECT_TRUE(fs::is_empty(outside.path()));
}

TEST(DiskActionCache, MarksAnEntryAsUsedOnceAnHour) {
  Scene scene;
  const auto cache = scene.Open();
  ASSERT_TRUE(cache->Update({}, Key("a"), Text("result")));
  const auto accessed = [&] {
    struct stat stat = {};
    EXPECT_EQ(::stat(scene.PathOf(Key("a")).c_str(), &stat), 0);
    return stat.st_atim.tv_sec;
  };
  const auto now = time(nullptr);
  EXPECT_EQ(CodeOf(*cache, Key("a")), Code::kOk);
  EXPECT_LT(accessed(), now + 1800);
  scene.clock.ahead = std::chrono::hours(3);
  EXPECT_EQ(CodeOf(*cache, Key("a")), Code::kOk);
  EXPECT_GE(accessed(), now + 3 * 3600 - 10);
}

TEST(DiskActionCache, R178_RefusesWhatIsTooLarge) {
  Scene scene;
  const std::string huge(kMaxEntryBytes, 'x');
  EXPECT_EQ(scene.Open()->Update({}, Key("a"), Text(huge)).error().code,
            Code::kResourceExhausted);
  EXPECT_EQ(scene.CountFiles("ac"), 0u);
}

TEST(DiskActionCache, R178_AFullDiskIsSaidInWords) {
  Scene scene;
  const auto cache = scene.Open();
  FaultInjector faults({.nth = 1, .error = ENOSPC, .counts = [](const Call& c) {
                          return c.name == "pwrite";
                        }});
  const auto updated = cache->Update({}, Key("a"), Text("result"));
  EXPECT_EQ(updated.error().code, Code::kResourceExhausted);
  EXPECT_EQ(updated.error().message.find("write to the store: "), 0u);
}

TEST(DiskActionCache, AFolderThatVanishedIsNoReasonToCrash) {
  Scene scene;
  const auto cache = scene.Open();
  fs::remove_all(scene.path());
  EXPECT_EQ(CodeOf(*cache, Key("a")), Code::kNotFound);
  EXPECT_EQ(cache->Update({}, Key("a"), Text("result")).error().code,
            Code::kFailedPrecondition);
}

TEST(DiskActionCache, GcAndVerifyLeaveItAlone) {
  Scene scene;
  const auto cache = scene.Open();
  ASSERT_TRUE(cache->Update({}, Key("a"), Text("result")));
  const VerifyReport report = scene.store->VerifyAll({}).value();
  EXPECT_TRUE(report.foreign.empty());
  EXPECT_EQ(report.blobs, 0);
  ASSERT_TRUE(scene.store->Gc({}, {.max_bytes = 0}));
  EXPECT_EQ(CodeOf(*cache, Key("a")), Code::kOk);
}

TEST(DiskActionCache, UpdatesThatComeAtOnceShareTheSyncs) {
  Scene scene;
  const auto cache = scene.Open();
  constexpr int kThreads = 16;
  std::atomic<int> syncs = 0, written = 0;
  std::latch first(1);
  FaultInjector watch({.before = [&](const Call& call) {
    // Each closes its temporary file, and then waits for a sync.
    if (call.name == "close") ++written;
    if (call.name != "syncfs") return;
    // The first sync is not done before all others wait for the next.
    if (syncs++ == 0) {
      first.count_down();
      while (written < kThreads) std::this_thread::yield();
    }
  }});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        if (t > 0) first.wait();
        EXPECT_TRUE(cache->Update({}, Key(std::to_string(t)), Text("r")));
      });
    }
  }
  // Alone each would need two. Those that wait for the first share the next;
  // how many share one after they have renamed is up to the scheduler.
  EXPECT_LT(syncs, 2 * kThreads - kThreads / 2);
}

using Operation = std::function<bool(ActionCache&)>;

bool UpdateNew(ActionCache& cache) {
  return cache.Update({}, Key("new"), Text("new")).has_value();
}
bool UpdateOld(ActionCache& cache) {
  return cache.Update({}, Key("old"), Text("new")).has_value();
}
bool GetOld(ActionCache& cache) {
  const auto result = cache.Get({}, Key("old"));
  EXPECT_TRUE(result || result.error().code != Code::kNotFound)
      << "a failure is not an absence";
  EXPECT_TRUE(!result || result->view() == "old");
  return false;
}

// Whether the plan met a call to fail.
bool RunOnce(const Operation& operation, const files::sys::FaultPlan& plan,
             bool can_clean_up) {
  Scene scene;
  auto cache = scene.Open();
  EXPECT_TRUE(cache->Update({}, Key("old"), Text("old")));
  const size_t descriptors = CountDescriptors();
  bool done = false, fired = false;
  {
    FaultInjector faults(plan);
    done = operation(*cache);
    fired = faults.fired();
  }
  EXPECT_EQ(CountDescriptors(), descriptors);
  EXPECT_TRUE(!can_clean_up || scene.CountFiles("tmp") == 0);
  cache = scene.Open();
  const auto older = cache->Get({}, Key("old"));
  EXPECT_TRUE(older && (older->view() == "old" || older->view() == "new"));
  const auto newer = cache->Get({}, Key("new"));
  EXPECT_TRUE(newer ? newer->view() == "new"
                    : newer.error().code == Code::kNotFound);
  EXPECT_TRUE(!done || (newer && newer->view() == "new") ||
              older->view() == "new");
  return fired;
}

void Sweep(const Operation& operation) {
  for (const bool for_good : {false, true}) {
    files::sys::FaultPlan plan = {.error = for_good ? ENOSPC : EIO,
                                  .for_good = for_good};
    if (!for_good) {
      plan.counts = [](const Call& call) { return call.name != "unlinkat"; };
    }
    for (plan.nth = 1;; ++plan.nth) {
      SCOPED_TRACE("call " + std::to_string(plan.nth) + " fails" +
                   (for_good ? " for good" : ""));
      if (!RunOnce(operation, plan, !for_good)) break;
      ASSERT_LT(plan.nth, 1000);
      ASSERT_FALSE(::testing::Test::HasFailure());
    }
  }
}

TEST(DiskActionCacheFaults, ANewEntryIsThereOrNotAndNothingLeaks) {
  Sweep(UpdateNew);
}
TEST(DiskActionCacheFaults, AnUpdateIsWholeAndNothingLeaks) {
  Sweep(UpdateOld);
}
TEST(DiskActionCacheFaults, ALookupFailsOrIsRight) { Sweep(GetOld); }

TEST(DiskActionCacheFaults, AFailedSyncIsNotAcknowledged) {
  for (const int64_t n : {1, 2}) {
    Scene scene;
    const auto cache = scene.Open();
    FaultInjector faults({.nth = n, .counts = [](const Call& call) {
                            return call.name == "syncfs";
                          }});
    EXPECT_FALSE(cache->Update({}, Key("a"), Text("result")));
    EXPECT_TRUE(faults.fired());
  }
}

TEST(DiskActionCache, NeverSyncsIfItNeedNotOutliveThePower) {
  Scene scene;
  const auto cache = scene.Open(false);
  FaultInjector watch({.nth = 1, .counts = [](const Call& call) {
                         return call.name.find("sync") != call.name.npos;
                       }});
  EXPECT_TRUE(cache->Update({}, Key("a"), Text("result")));
  EXPECT_FALSE(watch.fired());
}

}  // namespace
}  // namespace casemate::actions
