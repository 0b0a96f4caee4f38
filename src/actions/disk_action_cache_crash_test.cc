// What is left of the action cache after power loss and after kill -9.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "actions/action_cache.h"
#include "base/check.h"
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

ActionKey Key(const std::string& action) { return {"i", DigestOf(action)}; }
Bytes Text(std::string text) { return Bytes::FromString(std::move(text)); }

std::string Get(const std::string& folder, const std::string& action) {
  const auto store = DiskStore::Open(folder).value();
  const auto cache = OpenDiskActionCache(folder, true).value();
  const auto result = cache->Get({}, Key(action));
  if (result) return std::string(result->view());
  return std::string(CodeName(result.error().code));
}

// Power loss: what the folder was when the last syncfs was complete is all that
// is sure to be left of it.
TEST(DiskActionCache, KeepsWhatItAcknowledgedThroughPowerLoss) {
  testing::TempDir dir;
  const std::string folder = dir / "store", saved = dir / "saved";
  const auto store = DiskStore::Open(folder).value();
  const auto cache = OpenDiskActionCache(folder, true).value();
  FaultInjector watch({.done = [&](const Call& call) {
    if (call.name != "syncfs") return;
    fs::remove_all(saved);
    fs::copy(folder, saved, fs::copy_options::recursive);
  }});
  ASSERT_TRUE(cache->Update({}, Key("a"), Text("one")));
  EXPECT_EQ(Get(saved, "a"), "one");
  ASSERT_TRUE(cache->Update({}, Key("a"), Text("two")));
  ASSERT_TRUE(cache->Update({}, Key("b"), Text("")));
  EXPECT_EQ(Get(saved, "a"), "two");
  EXPECT_EQ(Get(saved, "b"), "");
}

TEST(DiskActionCache, GivesNoFileItsFinalNameBeforeItsBytesAreSynced) {
  testing::TempDir dir;
  const auto store = DiskStore::Open(dir / "store").value();
  const auto cache = OpenDiskActionCache(dir / "store", true).value();
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
  ASSERT_TRUE(cache->Update({}, Key("a"), Text("one")));
  ASSERT_TRUE(cache->Update({}, Key("a"), Text("two")));
  EXPECT_EQ(renamed, 2);
}

// Replaces an entry, and is killed before the call of that number.
void DieAt(const std::string& folder, int call_number) {
  const auto store = DiskStore::Open(folder).value();
  const auto cache = OpenDiskActionCache(folder, true).value();
  int calls = 0;
  FaultInjector killer({.before = [&](const Call&) {
    if (++calls == call_number) kill(getpid(), SIGKILL);
  }});
  CASEMATE_CHECK(cache->Update({}, Key("a"), Text("new")));
  _exit(0);
}

TEST(DiskActionCache, IsWholeWhicheverStepAKillComesBefore) {
  bool killed = true;
  int survived_old = 0;
  for (int call = 1; killed; ++call) {
    ASSERT_LT(call, 200);
    testing::TempDir dir;
    const std::string folder = dir / "store";
    {
      const auto store = DiskStore::Open(folder).value();
      ASSERT_TRUE(OpenDiskActionCache(folder, true)
                      .value()
                      ->Update({}, Key("a"), Text("old")));
    }
    const pid_t child = fork();
    if (child == 0) DieAt(folder, call);
    int status = 0;
    waitpid(child, &status, 0);
    killed = WIFSIGNALED(status);
    const std::string left = Get(folder, "a");
    EXPECT_TRUE(left == "new" || (killed && left == "old")) << left;
    survived_old += left == "old";
    const auto store = DiskStore::Open(folder).value();
    for (const auto& each : fs::recursive_directory_iterator(folder + "/tmp")) {
      EXPECT_FALSE(each.is_regular_file()) << each.path();
    }
    EXPECT_TRUE(store->VerifyAll({})->foreign.empty());
  }
  EXPECT_GT(survived_old, 3);
}

// Updates without end, and says of each that it was acknowledged.
[[noreturn]] void UpdateForEver(const std::string& folder, int pipe) {
  const auto store = DiskStore::Open(folder).value();
  const auto cache = OpenDiskActionCache(folder, true).value();
  for (int i = 0;; ++i) {
    const std::string name = std::to_string(i);
    CASEMATE_CHECK(cache->Update({}, Key(name), Text("result " + name)));
    const std::string line = name + "\n";
    if (write(pipe, line.data(), line.size()) < 0) _exit(1);
  }
}

TEST(DiskActionCache, KeepsWhatItAcknowledgedThroughKill) {
  testing::TempDir dir;
  const std::string folder = dir / "store";
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = fork();
  if (child == 0) UpdateForEver(folder, pipe[1]);
  close(pipe[1]);
  std::string said;
  char c = 0;
  int lines = 0;
  while (read(pipe[0], &c, 1) == 1) {
    said += c;
    if (c == '\n' && ++lines == 25) kill(child, SIGKILL);
  }
  close(pipe[0]);
  waitpid(child, nullptr, 0);
  ASSERT_GE(lines, 25);
  for (size_t at = 0, end; (end = said.find('\n', at)) != said.npos;
       at = end + 1) {
    const std::string name = said.substr(at, end - at);
    EXPECT_EQ(Get(folder, name), "result " + name);
  }
}

}  // namespace
}  // namespace casemate::actions
