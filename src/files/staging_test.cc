#include "files/staging.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "files/for_test.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

using sys::Call;
using sys::FaultInjector;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing::TempDir;
using testing::WriteFile;

class StagingTest : public ::testing::Test {
 protected:
  StagingTest() : destination_(Destination::Resolve(dir_ / "out").value()) {}

  // A staging directory with a file of this name in it.
  Staging MustStage(const std::string& name) {
    auto staging = Staging::Create({}, destination_);
    EXPECT_TRUE(staging) << staging.error().message;
    EXPECT_TRUE(staging->root().CreateFile(name, 0644));
    return std::move(*staging);
  }

  // What stands beside the destination, for a person who dies in between.
  void LeaveAStaleOne() {
    EXPECT_EQ(InChild([&]() -> std::string {
                auto* const left = new Staging(MustStage("left"));
                return left == nullptr ? "no" : "";
              }),
              "");
  }

  TempDir dir_;
  Destination destination_;
};

TEST_F(StagingTest, AppearsInOneStep) {
  Staging staging = MustStage("new");
  EXPECT_THAT(NamesIn(dir_.path()),
              ElementsAre(StartsWith(".casemate-staging-")));
  ASSERT_TRUE(staging.Sync());
  ASSERT_TRUE(staging.Publish({}, false));
  ASSERT_TRUE(staging.Sync());
  EXPECT_THAT(NamesIn(dir_.path()), ElementsAre("out"));
  EXPECT_THAT(NamesIn(dir_ / "out"), ElementsAre("new"));
}

TEST_F(StagingTest, RemovesItselfWhenItIsNotPublished) {
  {
    Staging staging = MustStage("new");
    ASSERT_TRUE(staging.root().MakeDirectories("a/b/c", 0755));
  }
  EXPECT_THAT(NamesIn(dir_.path()), IsEmpty());
}

TEST_F(StagingTest, TakesThePlaceOfAnEmptyDirectory) {
  mkdir((dir_ / "out").c_str(), 0755);
  ASSERT_TRUE(MustStage("new").Publish({}, false));
  EXPECT_THAT(NamesIn(dir_ / "out"), ElementsAre("new"));
}

TEST_F(StagingTest, DoesNotReplaceADirectoryUnlessToldTo) {
  std::filesystem::create_directories(dir_ / "out/old");
  {
    Staging staging = MustStage("new");
    EXPECT_EQ(staging.Publish({}, false).error().code, Code::kAlreadyExists);
    ASSERT_TRUE(staging.Publish({}, true));
  }
  EXPECT_THAT(NamesIn(dir_ / "out"), ElementsAre("new"));
  EXPECT_THAT(NamesIn(dir_.path()), ElementsAre("out"));
}

TEST_F(StagingTest, ReplacesNothingAsGladly) {
  ASSERT_TRUE(MustStage("new").Publish({}, true));
  EXPECT_THAT(NamesIn(dir_ / "out"), ElementsAre("new"));
}

TEST_F(StagingTest, NeverReplacesAFileOrALink) {
  for (const bool replace : {false, true}) {
    WriteFile(dir_ / "out", "file");
    EXPECT_EQ(MustStage("new").Publish({}, replace).error().code,
              Code::kAlreadyExists);
    unlink((dir_ / "out").c_str());
    symlink("/", (dir_ / "out").c_str());
    EXPECT_EQ(MustStage("new").Publish({}, replace).error().code,
              Code::kAlreadyExists);
    unlink((dir_ / "out").c_str());
  }
}

TEST_F(StagingTest, RemovesAReplacedTreeThatForbidsIt) {
  EXPECT_EQ(
      AsOrdinaryUser(
          dir_,
          [&]() -> std::string {
            std::filesystem::create_directories(dir_ / "out/closed/below");
            chmod((dir_ / "out/closed").c_str(), 0555);
            chmod((dir_ / "out").c_str(), 0555);
            const auto published = MustStage("new").Publish({}, true);
            if (!published) return published.error().message;
            return NamesIn(dir_.path()).size() == 1 ? "" : "something is left";
          }),
      "");
}

TEST_F(StagingTest, CleansUpAfterTheDead) {
  LeaveAStaleOne();
  ASSERT_EQ(NamesIn(dir_.path()).size(), 1u);
  Staging staging = MustStage("new");
  EXPECT_EQ(NamesIn(dir_.path()).size(), 1u);
  ASSERT_TRUE(staging.Publish({}, false));
  EXPECT_THAT(NamesIn(dir_ / "out"), ElementsAre("new"));
}

TEST_F(StagingTest, LeavesTheLivingAlone) {
  Staging first = MustStage("first");
  Staging second = MustStage("second");
  EXPECT_TRUE(first.root().StatPath("first"));
  EXPECT_EQ(NamesIn(dir_.path()).size(), 2u);
}

TEST_F(StagingTest, LeavesEntriesOfOtherNamesAlone) {
  std::filesystem::create_directories(dir_ / ".casemate-other");
  WriteFile(dir_ / ".casemate-staging-file", "not a directory of ours");
  { Staging staging = MustStage("new"); }
  EXPECT_EQ(NamesIn(dir_.path()).size(), 2u);
}

TEST_F(StagingTest, BeginsAgainWhenACleanerIsQuicker) {
  int removed = 0;
  FaultInjector cleaner({.before = [&](const Call& call) {
    const std::string_view path = call.path;
    if (call.name != "openat" || !path.starts_with(".casemate-staging-"))
      return;
    if (removed++ < 3) rmdir((dir_ / std::string(path)).c_str());
  }});
  const Staging staging = MustStage("new");
  EXPECT_EQ(removed, 4);
  EXPECT_EQ(NamesIn(dir_.path()).size(), 1u);
}

TEST_F(StagingTest, BeginsAgainWhenACleanerHoldsTheLock) {
  Descriptor cleaners;
  FaultInjector cleaner({.before = [&](const Call& call) {
    if (call.name != "flock" || cleaners) return;
    const std::string name = NamesIn(dir_.path()).at(0);
    cleaners = Descriptor(open((dir_ / name).c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(flock(cleaners.get(), LOCK_EX | LOCK_NB), 0);
  }});
  const Staging staging = MustStage("new");
  EXPECT_TRUE(cleaners);
  // The first one is the cleaner's to remove.
  EXPECT_EQ(NamesIn(dir_.path()).size(), 2u);
}

TEST_F(StagingTest, BeginsAgainWhenACleanerCameBeforeTheLock) {
  bool removed = false;
  FaultInjector cleaner({.before = [&](const Call& call) {
    if (call.name != "flock" || removed) return;
    removed = rmdir((dir_ / NamesIn(dir_.path()).at(0)).c_str()) == 0;
  }});
  const Staging staging = MustStage("new");
  EXPECT_TRUE(removed);
  EXPECT_EQ(NamesIn(dir_.path()).size(), 1u);
}

TEST_F(StagingTest, GivesUpWhenCleanersNeverDo) {
  FaultInjector cleaner({.before = [&](const Call& call) {
    const std::string_view path = call.path;
    if (call.name != "openat" || !path.starts_with(".casemate-staging-"))
      return;
    rmdir((dir_ / std::string(path)).c_str());
  }});
  EXPECT_EQ(Staging::Create({}, destination_).error().code, Code::kUnavailable);
}

TEST_F(StagingTest, HoldsTheReplacedTreeLockedWhileItRemovesIt) {
  std::filesystem::create_directories(dir_ / "out/old/older");
  Staging staging = MustStage("new");
  int looks = 0, not_held = 0;
  FaultInjector watch({.before = [&](const Call& call) {
    if (call.name != "unlinkat") return;
    for (const std::string& name : NamesIn(dir_.path())) {
      const Descriptor other(open((dir_ / name).c_str(), O_RDONLY | O_CLOEXEC));
      not_held += flock(other.get(), LOCK_EX | LOCK_NB) == 0;
      ++looks;
    }
  }});
  ASSERT_TRUE(staging.Publish({}, true));
  EXPECT_GT(looks, 0);
  EXPECT_EQ(not_held, 0);
}

TEST_F(StagingTest, IsPublishedEvenIfTheReplacedTreeCannotBeRemoved) {
  std::filesystem::create_directories(dir_ / "out/old");
  {
    Staging staging = MustStage("new");
    FaultInjector faults(
        {.nth = 1,
         .error = EACCES,
         .for_good = true,
         .counts = [](const Call& call) { return call.name == "unlinkat"; }});
    EXPECT_TRUE(staging.Publish({}, true));
  }
  EXPECT_THAT(NamesIn(dir_ / "out"), ElementsAre("new"));
  EXPECT_EQ(NamesIn(dir_.path()).size(), 2u);
  { Staging next = MustStage("next"); }
  EXPECT_THAT(NamesIn(dir_.path()), ElementsAre("out"));
}

TEST_F(StagingTest, TakesItsDirectoryAlongWhenMoved) {
  Staging first = MustStage("first");
  Staging moved = std::move(first);
  moved = MustStage("second");
  ASSERT_TRUE(moved.Publish({}, false));
  EXPECT_THAT(NamesIn(dir_ / "out"), ElementsAre("second"));
}

}  // namespace
}  // namespace casemate::files
