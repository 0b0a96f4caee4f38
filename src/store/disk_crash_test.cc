// What is left of a disk store after power loss and after kill -9.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "files/sys.h"
#include "store/for_test.h"
#include "testing/store_helpers.h"

namespace casemate::store {
namespace {

namespace fs = std::filesystem;
using files::sys::Call;
using files::sys::FaultInjector;
using testing::BlobOf;
using testing::DigestOf;
using testing::Has;
using testing::MustPut;
using testing::MustRead;
using testing::RandomText;

// Power loss: what the folder was when the last syncfs was complete is all that
// is sure to be left of it.
class PowerLoss {
 public:
  explicit PowerLoss(const std::string& folder) : folder_(folder) { Save(); }

  // From here on the disk forgets what is not synced.
  std::unique_ptr<DiskStore> Reopen() const {
    return DiskStore::Open(saved()).value();
  }

 private:
  void Save() {
    fs::remove_all(saved());
    fs::copy(folder_, saved(), fs::copy_options::recursive);
  }
  std::string saved() const { return dir_ / "saved"; }

  const std::string folder_;
  testing::TempDir dir_;
  int64_t syncs_ = 0;
  FaultInjector watch_{{.done = [this](const Call& call) {
    if (call.name != "syncfs") return;
    ++syncs_;
    Save();
  }}};
};

class DiskStoreCrash : public ::testing::TestWithParam<Encoding> {};
INSTANTIATE_TEST_SUITE_P(AtRest, DiskStoreCrash,
                         ::testing::Values(Encoding::kIdentity,
                                           Encoding::kZstd));

TEST_P(DiskStoreCrash, KeepsWhatItAcknowledgedThroughPowerLoss) {
  StoreFolder folder(GetParam());
  const auto store = folder.Open();
  std::vector<Digest> done;
  PowerLoss disk(folder.path());
  done.push_back(MustPut(*store, "one"));
  EXPECT_EQ(MustRead(*disk.Reopen(), done.back()), "one");
  const std::vector<Blob> blobs = {BlobOf("two"), BlobOf("three"),
                                   BlobOf(RandomText(100'000)),
                                   BlobOf(std::string(2'000'000, 'a'))};
  for (const auto& each : store->PutMany({}, blobs)) EXPECT_TRUE(each);
  for (const Blob& blob : blobs) done.push_back(blob.digest());
  for (const Digest& digest : done) EXPECT_TRUE(Has(*disk.Reopen(), digest));
  const auto writer =
      store->StartWrite({}, DigestOf("four"), "", Encoding::kIdentity).value();
  EXPECT_TRUE(writer->Write({}, AsBytes("four")));
  EXPECT_TRUE(writer->Commit({}));
  done.push_back(DigestOf("four"));
  for (const Digest& digest : done) {
    EXPECT_EQ(DigestOf(MustRead(*disk.Reopen(), digest)), digest);
  }
}

TEST_P(DiskStoreCrash, GivesNoFileItsFinalNameBeforeItsBytesAreSynced) {
  StoreFolder folder(GetParam());
  const auto store = folder.Open();
  bool synced = false;
  int renamed = 0;
  FaultInjector watch({.before =
                           [&](const Call& call) {
                             if (call.name == "pwrite") synced = false;
                             if (call.name == "renameat2") {
                               ++renamed;
                               EXPECT_TRUE(synced);
                             }
                           },
                       .done =
                           [&](const Call& call) {
                             if (call.name == "syncfs") synced = true;
                           }});
  MustPut(*store, "one");
  const std::vector<Blob> blobs = {BlobOf("two"),
                                   BlobOf(std::string(9999, 'a'))};
  for (const auto& each : store->PutMany({}, blobs)) EXPECT_TRUE(each);
  EXPECT_EQ(renamed, 3);
}

// Another process has renamed a blob and not yet synced its name.
TEST(DiskStore, AnswersForNoBlobThatPowerLossCouldTake) {
  StoreFolder folder;
  const auto store = folder.Open();
  const auto other =
      DiskStore::Open(folder.path(), {.sync = DiskStoreOptions::Sync::kOff})
          .value();
  PowerLoss disk(folder.path());
  const Digest digest = MustPut(*other, "hello");
  EXPECT_FALSE(Has(*disk.Reopen(), digest));
  EXPECT_TRUE(Has(*store, digest));
  EXPECT_TRUE(Has(*disk.Reopen(), digest));
}

TEST(DiskStore, DoesNotSyncForBlobsThatAreLongOnDisk) {
  StoreFolder folder;
  FakeClock clock;
  const auto store = folder.Open(clock);
  const Digest digest = MustPut(*store, "hello");
  clock.Advance(std::chrono::minutes(2));
  FaultInjector watch({.nth = 1, .counts = [](const Call& call) {
                         return call.name == "syncfs";
                       }});
  EXPECT_TRUE(Has(*store, digest));
  EXPECT_FALSE(watch.fired());
}

TEST(DiskStore, NeverSyncsIfItNeedNotOutliveThePower) {
  StoreFolder folder;
  FaultInjector watch({.nth = 1, .counts = [](const Call& call) {
                         return call.name.find("sync") != call.name.npos;
                       }});
  const auto store =
      DiskStore::Open(folder.path(), {.sync = DiskStoreOptions::Sync::kOff})
          .value();
  const Digest digest = MustPut(*store, "hello");
  const Blob blob = BlobOf("two");
  EXPECT_TRUE(store->PutMany({}, std::span(&blob, 1))[0]);
  EXPECT_TRUE(Has(*store, digest));
  EXPECT_FALSE(watch.fired());
}

// Stores blobs without end, and says of each that it was acknowledged.
[[noreturn]] void StoreForEver(const StoreFolder& folder, int pipe) {
  const auto store = folder.Open();
  for (unsigned i = 0;; i += 4) {
    std::vector<Blob> blobs;
    for (unsigned j = 0; j < 3; ++j) {
      blobs.push_back(BlobOf(RandomText(1000 * j + 10, i + j) +
                             std::string(5000 * j, 'a')));
    }
    for (const auto& each : store->PutMany({}, blobs)) CASEMATE_CHECK(each);
    blobs.push_back(
        BlobOf(RandomText(70'000, i + 3) + std::string(1'200'000, 'a')));
    MustPut(*store, std::string(blobs.back().bytes().view()));
    for (const Blob& blob : blobs) {
      const std::string line = blob.digest().ToString() + "\n";
      if (write(pipe, line.data(), line.size()) < 0) _exit(1);
    }
  }
}

// The next line from the pipe; empty at its end.
std::string ReadLine(int pipe) {
  std::string line;
  char c = 0;
  while (read(pipe, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

TEST_P(DiskStoreCrash, KeepsWhatItAcknowledgedThroughKill) {
  for (const int after : {1, 4, 17, 33}) {
    StoreFolder folder(GetParam());
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = fork();
    if (child == 0) StoreForEver(folder, pipe[1]);
    close(pipe[1]);
    std::vector<std::string> done;
    while (done.size() < static_cast<size_t>(after)) {
      done.push_back(ReadLine(pipe[0]));
    }
    kill(child, SIGKILL);
    for (std::string line; !(line = ReadLine(pipe[0])).empty();) {
      // The last one may be cut.
      if (Digest::Parse(line)) done.push_back(line);
    }
    close(pipe[0]);
    waitpid(child, nullptr, 0);
    const auto store = folder.Open();
    EXPECT_EQ(folder.CountFiles("tmp"), 0u);
    for (const std::string& line : done) {
      const Digest digest = Digest::Parse(line).value();
      EXPECT_EQ(DigestOf(MustRead(*store, digest)), digest);
    }
    EXPECT_TRUE(store->VerifyAll({}).value().damaged.empty());
  }
}

}  // namespace
}  // namespace casemate::store
