#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "files/for_test.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

using sys::Call;
using sys::FaultInjector;
using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

// A small tree of all that a tree may hold.
void MakeTree(const std::string& path) {
  std::filesystem::create_directories(path + "/a/b/c/d");
  std::filesystem::create_directories(path + "/a/x/y");
  std::filesystem::create_directories(path + "/empty");
  WriteFile(path + "/file", "");
  WriteFile(path + "/a/b/c/file", "");
  WriteFile(path + "/a/x/y/file", "");
  symlink("/", (path + "/a/x/link").c_str());
  mkfifo((path + "/a/b/fifo").c_str(), 0600);
}

TEST(RemoveTree, RemovesAllBelow) {
  TempDir dir;
  MakeTree(dir / "t");
  ASSERT_TRUE(MustHold(dir.path()).RemoveTree({}, "t"));
  EXPECT_TRUE(NamesIn(dir.path()).empty());
}

TEST(RemoveTree, RemovesASingleEntryOfAnyKind) {
  TempDir dir;
  WriteFile(dir / "file", "");
  symlink("nowhere", (dir / "link").c_str());
  const Directory held = MustHold(dir.path());
  EXPECT_TRUE(held.RemoveTree({}, "file"));
  EXPECT_TRUE(held.RemoveTree({}, "link"));
  EXPECT_TRUE(held.RemoveTree({}, "not there"));
  EXPECT_TRUE(NamesIn(dir.path()).empty());
}

TEST(RemoveTree, RemovesALinkNotWhatItLeadsTo) {
  TempDir dir;
  MakeTree(dir / "kept");
  mkdir((dir / "t").c_str(), 0755);
  symlink((dir / "kept").c_str(), (dir / "t/link").c_str());
  ASSERT_TRUE(MustHold(dir.path()).RemoveTree({}, "t"));
  EXPECT_TRUE(std::filesystem::exists(dir / "kept/a/b/c/file"));
}

TEST(RemoveTree, HoldsFewDescriptorsHoweverDeepItIs) {
  TempDir dir;
  const Directory held = MustHold(dir.path());
  std::string path = "t";
  for (int depth = 0; depth < 300; ++depth) path += "/d";
  ASSERT_TRUE(MustRoot(dir.path()).MakeDirectories(path, 0755));
  const size_t before = CountDescriptors();
  size_t most = 0;
  FaultInjector watch({.done = [&](const Call& call) {
    if (call.name == "openat") most = std::max(most, CountDescriptors());
  }});
  ASSERT_TRUE(held.RemoveTree({}, "t"));
  EXPECT_LE(most, before + 4);
  EXPECT_TRUE(NamesIn(dir.path()).empty());
}

TEST(RemoveTree, RemovesDirectoriesThatForbidIt) {
  TempDir dir;
  EXPECT_EQ(AsOrdinaryUser(
                dir,
                [&]() -> std::string {
                  MakeTree(dir / "t");
                  for (const auto [path, mode] :
                       {std::pair("t/a/b/c", 0555), std::pair("t/a/b", 0000),
                        std::pair("t/a/x", 0300), std::pair("t/a", 0400),
                        std::pair("t", 0555)}) {
                    chmod((dir / path).c_str(), static_cast<mode_t>(mode));
                  }
                  const auto removed = MustHold(dir.path()).RemoveTree({}, "t");
                  if (!removed) return removed.error().message;
                  return NamesIn(dir.path()).empty() ? "" : "something is left";
                }),
            "");
}

TEST(RemoveTree, SaysWhatItCouldNotRemove) {
  TempDir dir;
  MakeTree(dir / "t");
  FaultInjector faults(
      {.nth = 1, .error = EACCES, .counts = [](const Call& call) {
         return call.name == "unlinkat" &&
                std::string_view(call.path) == "fifo";
       }});
  const auto removed = MustHold(dir.path()).RemoveTree({}, "t");
  EXPECT_EQ(removed.error().message, "remove fifo: permission denied");
}

TEST(RemoveTree, StopsWhenAsked) {
  TempDir dir;
  MakeTree(dir / "t");
  std::stop_source source;
  source.request_stop();
  Context ctx;
  ctx.stop = source.get_token();
  EXPECT_EQ(MustHold(dir.path()).RemoveTree(ctx, "t").error().code,
            Code::kCancelled);
}

TEST(RemoveTree, TakesWhatOthersRemoveMeanwhileAsRemoved) {
  TempDir dir;
  MakeTree(dir / "t");
  FaultInjector other({.before = [&](const Call& call) {
    if (call.name == "unlinkat" && std::string_view(call.path) != "t") {
      std::filesystem::remove_all(dir / "t");
    }
  }});
  EXPECT_TRUE(MustHold(dir.path()).RemoveTree({}, "t"));
  EXPECT_TRUE(NamesIn(dir.path()).empty());
}

TEST(RemoveTree, IsDoneWhenSomebodyElseWasQuicker) {
  TempDir dir;
  MakeTree(dir / "t");
  FaultInjector other({.before = [&](const Call& call) {
    if (call.name == "openat") std::filesystem::remove_all(dir / "t");
  }});
  EXPECT_TRUE(MustHold(dir.path()).RemoveTree({}, "t"));
}

TEST(RemoveTree, RemovesWhatOthersAddMeanwhile) {
  TempDir dir;
  MakeTree(dir / "t");
  int added = 0;
  FaultInjector other({.before = [&](const Call& call) {
    if (call.name != "unlinkat" || added >= 20) return;
    const std::string name = "t/added" + std::to_string(added++);
    mkdir((dir / name).c_str(), 0755);
    mkdir((dir / (name + "/below")).c_str(), 0755);
  }});
  EXPECT_TRUE(MustHold(dir.path()).RemoveTree({}, "t"));
  EXPECT_TRUE(NamesIn(dir.path()).empty());
}

TEST(RemoveTree, DoesNotFollowALinkThatTakesADirectorysPlace) {
  TempDir dir;
  WriteFile(dir / "outside", "");
  MakeTree(dir / "kept");
  MakeTree(dir / "t");
  bool swapped = false;
  FaultInjector other({.before = [&](const Call& call) {
    if (call.name != "openat" || std::string_view(call.path) != "a") return;
    std::filesystem::remove_all(dir / "t/a");
    swapped = symlink((dir / "kept").c_str(), (dir / "t/a").c_str()) == 0;
  }});
  EXPECT_TRUE(MustHold(dir.path()).RemoveTree({}, "t"));
  EXPECT_TRUE(swapped);
  EXPECT_TRUE(std::filesystem::exists(dir / "kept/a/b/c/file"));
}

}  // namespace
}  // namespace casemate::files
