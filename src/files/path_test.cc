#include "files/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "files/directory.h"
#include "files/root.h"

namespace casemate::files {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::string_view_literals;

TEST(CheckName, TakesWhateverADirectoryCanHold) {
  for (const auto name : {"a", "-rf", " ", "a ", "new\nline", "quote'\"", "...",
                          "..a", ".a", "\xff\xfe", "\\", "*"}) {
    EXPECT_TRUE(CheckName(name)) << name;
  }
  EXPECT_TRUE(CheckName(std::string(255, 'x')));
}

TEST(CheckName, RefusesWhatIsNotOneComponent) {
  for (const auto name : {""sv, "."sv, ".."sv, "/"sv, "a/b"sv, "a/"sv, "/a"sv,
                          "a\0b"sv, "\0"sv}) {
    EXPECT_EQ(CheckName(name).error().code, Code::kInvalidArgument) << name;
  }
  EXPECT_FALSE(CheckName(std::string(256, 'x')));
}

TEST(CheckPath, TakesNamesJoinedBySingleSlashes) {
  for (const auto path : {"", "a", "a/b/c", "...", "a/..b/.c"}) {
    EXPECT_TRUE(CheckPath(path)) << path;
  }
}

TEST(CheckPath, RefusesEveryOtherForm) {
  for (const auto path :
       {"/"sv, "/a"sv, "a/"sv, "a//b"sv, "."sv, ".."sv, "a/."sv, "a/.."sv,
        "../a"sv, "./a"sv, "a/../b"sv, "a/./b"sv, "a/b\0/c"sv}) {
    EXPECT_EQ(CheckPath(path).error().code, Code::kInvalidArgument) << path;
  }
  EXPECT_FALSE(CheckPath("a/" + std::string(256, 'x') + "/b"));
}

TEST(CheckTarget, RefusesWhatNoLinkCanSay) {
  EXPECT_TRUE(CheckTarget("/anything/../at all\n", "l"));
  EXPECT_TRUE(CheckTarget(std::string(4095, 'x'), "l"));
  EXPECT_FALSE(CheckTarget("", "l"));
  EXPECT_FALSE(CheckTarget("a\0b"sv, "l"));
  EXPECT_FALSE(CheckTarget(std::string(4096, 'x'), "l"));
}

TEST(Split, CutsOffTheLastName) {
  EXPECT_EQ(Split("a/b/c").parent, "a/b");
  EXPECT_EQ(Split("a/b/c").name, "c");
  EXPECT_EQ(Split("a").parent, "");
  EXPECT_EQ(Split("a").name, "a");
}

TEST(Join, LeavesOutAnEmptyParent) {
  EXPECT_EQ(Join("a/b", "c"), "a/b/c");
  EXPECT_EQ(Join("", "c"), "c");
}

TEST(Cuts, AreAtSlashesAndLeaveNoPartTooLong) {
  EXPECT_THAT(Cuts("aa/bb/cc", 8), IsEmpty());
  EXPECT_THAT(Cuts("aa/bb/cc", 7), ElementsAre(5));
  EXPECT_THAT(Cuts("aa/bb/cc", 5), ElementsAre(5));
  EXPECT_THAT(Cuts("aa/bb/cc", 4), ElementsAre(2, 5));
}

TEST(Cuts, AreTheSameForPathsThatBeginAlike) {
  EXPECT_THAT(Cuts("aa/bb/cc/x", 5), ElementsAre(5));
  EXPECT_THAT(Cuts("aa/bb/cc/d/long", 5), ElementsAre(5, 10));
}

}  // namespace
}  // namespace casemate::files
