#include "files/file_cursor.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "files/for_test.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

using sys::Call;
using sys::FaultInjector;
using testing::WriteFile;

//   in/a/1 … in/a/4    files
//   out/3              must not be reached
class FileCursorTest : public ::testing::TestWithParam<Resolver> {
 protected:
  ~FileCursorTest() override { EXPECT_EQ(CountDescriptors(), descriptors_); }

  void SetUp() override {
    if (GetParam() == Resolver::kOpenat2 && !sys::HasOpenAt2()) {
      GTEST_SKIP() << "this kernel has no openat2";
    }
  }

  // Opens "a/`name`" as it is, or as `expected` says.
  Result<File> Open(FileCursor& cursor, const std::string& name) {
    return cursor.OpenFile(root_, "a/" + name, Of(name));
  }
  Stat Of(const std::string& name) { return *root_.StatPath("a/" + name); }

  // A cursor that holds "a".
  FileCursor Holding() {
    FileCursor cursor;
    EXPECT_TRUE(Open(cursor, "1"));
    EXPECT_TRUE(Open(cursor, "2"));
    return cursor;
  }

  void Move(const std::string& from, const std::string& to) {
    std::filesystem::rename(dir_ / from, dir_ / to);
  }

  Root MakeTree() {
    std::filesystem::create_directories(dir_ / "in/a");
    std::filesystem::create_directories(dir_ / "out");
    for (const std::string name : {"1", "2", "3", "4"}) {
      WriteFile(dir_ / ("in/a/" + name), name);
    }
    WriteFile(dir_ / "out/3", "secret");
    return MustRoot(dir_ / "in", {.resolver = GetParam()});
  }

  testing::TempDir dir_;
  const size_t descriptors_ = CountDescriptors() + 1;  // And the root's.
  Root root_ = MakeTree();
};

INSTANTIATE_TEST_SUITE_P(Resolvers, FileCursorTest,
                         ::testing::Values(Resolver::kOpenat2,
                                           Resolver::kComponentWalk));

TEST_P(FileCursorTest, ResolvesADirectoryOnceForFilesThatFollowEachOther) {
  FileCursor cursor = Holding();
  const Stat three = Of("3");
  std::vector<std::string> opened;
  FaultInjector watch({.before = [&](const Call& call) {
    if (call.name.starts_with("openat")) opened.push_back(call.path);
  }});
  const auto file = cursor.OpenFile(root_, "a/3", three);
  EXPECT_EQ(ContentOf(*file), "3");
  EXPECT_EQ(opened, std::vector<std::string>{"3"});
}

TEST_P(FileCursorTest, HoldsNothingForAFileThatMayBeTheOnlyOne) {
  FileCursor cursor;
  EXPECT_TRUE(Open(cursor, "1"));
  EXPECT_EQ(CountDescriptors(), descriptors_);
}

TEST_P(FileCursorTest, HoldsNothingAfterReset) {
  FileCursor cursor = Holding();
  EXPECT_EQ(CountDescriptors(), descriptors_ + 1);
  cursor.Reset();
  EXPECT_EQ(CountDescriptors(), descriptors_);
}

TEST_P(FileCursorTest, FindsTheFilesOfADirectoryThatTookTheOldOnesPlace) {
  FileCursor cursor = Holding();
  Move("in/a", "in/old");
  std::filesystem::create_directory(dir_ / "in/a");
  WriteFile(dir_ / "in/a/3", "new");
  WriteFile(dir_ / "in/a/5", "new");
  EXPECT_EQ(ContentOf(*Open(cursor, "3")), "new");  // Another "3" is in old.
  EXPECT_EQ(ContentOf(*Open(cursor, "5")), "new");
}

TEST_P(FileCursorTest, IsNotLedOutsideByADirectoryThatBecameALink) {
  FileCursor cursor = Holding();
  const Stat three = Of("3"), secret = *MustRoot(dir_ / "out").StatPath("3");
  Move("in/a", "in/old");
  symlink("../out", (dir_ / "in/a").c_str());
  EXPECT_FALSE(cursor.OpenFile(root_, "a/3", secret));
  const auto refused = cursor.OpenFile(root_, "a/3", three);
  ASSERT_FALSE(refused);  // "a" is no longer held.
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
}

TEST_P(FileCursorTest, DoesNotFollowAFileThatBecameALink) {
  FileCursor cursor = Holding();
  const Stat secret = *MustRoot(dir_ / "out").StatPath("3");
  std::filesystem::remove(dir_ / "in/a/3");
  symlink("../../out/3", (dir_ / "in/a/3").c_str());
  const auto refused = cursor.OpenFile(root_, "a/3", secret);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
}

TEST_P(FileCursorTest, RefusesAnotherFileAndAFifo) {
  FileCursor cursor = Holding();
  const Stat three = Of("3");
  Move("in/a/4", "in/a/3");
  auto refused = cursor.OpenFile(root_, "a/3", three);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  cursor = Holding();
  std::filesystem::remove(dir_ / "in/a/3");
  ASSERT_EQ(mkfifo((dir_ / "in/a/3").c_str(), 0600), 0);
  refused = cursor.OpenFile(root_, "a/3", three);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
}

TEST_P(FileCursorTest, FollowsLinksAsTheRootDoes) {
  symlink("3", (dir_ / "in/a/l").c_str());
  root_ =
      MustRoot(dir_ / "in", {.links = Links::kFollow, .resolver = GetParam()});
  FileCursor cursor = Holding();
  EXPECT_EQ(ContentOf(*Open(cursor, "l")), "3");
}

TEST_P(FileCursorTest, SurvivesTheFailureOfAnySystemCall) {
  const Stat stats[] = {Of("1"), Of("2"), Of("3")};
  for (const bool for_good : {false, true}) {
    bool fired = true;
    for (int nth = 1; fired; ++nth) {
      FaultInjector faults({.nth = nth, .for_good = for_good});
      FileCursor cursor;
      for (size_t i = 0; i < 3; ++i) {
        const std::string name = std::to_string(i + 1);
        const auto file = cursor.OpenFile(root_, "a/" + name, stats[i]);
        EXPECT_TRUE(!file || SameFile(file->stat(), stats[i]));
      }
      fired = faults.fired();
    }
  }
}

}  // namespace
}  // namespace casemate::files
