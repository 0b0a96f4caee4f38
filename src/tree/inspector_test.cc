#include "tree/inspector.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "testing/temp_dir.h"

namespace casemate::tree {
namespace {

using files::Kind;

// Entries called "ghost" do not exist, so that to ask of them is an error.
class InspectorTest : public ::testing::Test {
 protected:
  InspectorTest() {
    testing::WriteFile(dir_ / "file", "12345");
    std::filesystem::create_symlink("file", dir_ / "link");
  }

  std::optional<Result<files::Stat>> Inspect(
      const std::string& name, Kind kind, InspectorOptions options = {},
      files::Links links = files::Links::kRefuse) {
    const auto root = files::Root::Open(dir_.path(), {.links = links}).value();
    const auto directory = root.OpenDirectory("").value();
    return Inspector(root, std::move(options))
        .Inspect(directory, {name, kind}, name);
  }

  static InspectorOptions Excluding(const std::string& pattern) {
    return {.filter = Filter::Make({{false, pattern}}).value()};
  }

  testing::TempDir dir_;
};

TEST_F(InspectorTest, DescribesAFile) {
  EXPECT_EQ((*Inspect("file", Kind::kRegular))->size, 5);
  EXPECT_FALSE(*Inspect("ghost", Kind::kRegular));
}

TEST_F(InspectorTest, AsksNothingOfWhatTheListingToldEnoughAbout) {
  EXPECT_EQ((*Inspect("ghost", Kind::kDirectory))->kind, Kind::kDirectory);
  EXPECT_EQ((*Inspect("ghost", Kind::kSymlink))->kind, Kind::kSymlink);
  EXPECT_EQ((*Inspect("ghost", Kind::kFifo))->kind, Kind::kFifo);
}

TEST_F(InspectorTest, AsksWhatTheListingDidNotSay) {
  EXPECT_EQ((*Inspect("file", Kind::kUnknown))->kind, Kind::kRegular);
  EXPECT_EQ((*Inspect("link", Kind::kUnknown))->kind, Kind::kSymlink);
}

TEST_F(InspectorTest, AsksForDevicesAndTimesWhereTheyAreNeeded) {
  EXPECT_FALSE(*Inspect("ghost", Kind::kDirectory, {.devices = true}));
  EXPECT_FALSE(*Inspect("ghost", Kind::kSymlink, {.times_of_links = true}));
  EXPECT_NE((*Inspect("link", Kind::kSymlink, {.times_of_links = true}))->mtime,
            0);
}

TEST_F(InspectorTest, AsksNothingOfWhatIsExcludedByName) {
  EXPECT_FALSE(Inspect("ghost", Kind::kRegular, Excluding("ghost")));
  EXPECT_TRUE(Inspect("file", Kind::kRegular, Excluding("ghost")));
}

TEST_F(InspectorTest, LearnsTheKindBeforeItAppliesAFilterForDirectories) {
  std::filesystem::create_directory(dir_ / "d");
  EXPECT_FALSE(Inspect("d", Kind::kUnknown, Excluding("d/")));
  EXPECT_TRUE(Inspect("file", Kind::kUnknown, Excluding("file/")));
}

TEST_F(InspectorTest, DescribesTheTargetOfALinkThatIsFollowed) {
  EXPECT_EQ((*Inspect("link", Kind::kSymlink, {}, files::Links::kFollow))->size,
            5);
  EXPECT_EQ((*Inspect("link", Kind::kUnknown, {}, files::Links::kFollow))->kind,
            Kind::kRegular);
}

}  // namespace
}  // namespace casemate::tree
