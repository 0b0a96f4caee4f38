#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "files/for_test.h"
#include "files/staging.h"

namespace casemate::files {
namespace {

using testing::TempDir;
using testing::WriteFile;

// Works in a scratch directory and comes back.
class DestinationTest : public ::testing::Test {
 protected:
  DestinationTest() { std::filesystem::current_path(dir_.path()); }
  ~DestinationTest() override { std::filesystem::current_path(before_); }

  // What `path` is resolved to, relative to the scratch directory.
  std::string Resolved(const std::string& path) {
    const auto destination = Destination::Resolve(path);
    if (!destination) return std::string(CodeName(destination.error().code));
    const auto parent = std::filesystem::read_symlink(
        "/proc/self/fd/" +
        std::to_string(destination->parent.descriptor().get()));
    return (parent / destination->name)
        .lexically_relative(std::filesystem::current_path())
        .string();
  }

  const std::filesystem::path before_ = std::filesystem::current_path();
  TempDir dir_;
};

TEST_F(DestinationTest, IsAParentAndANameThereThatNeedNotExist) {
  mkdir("a", 0755);
  EXPECT_EQ(Resolved("out"), "out");
  EXPECT_EQ(Resolved("a/out"), "a/out");
  EXPECT_EQ(Resolved(dir_ / "a/out"), "a/out");
  EXPECT_EQ(Resolved("a"), "a");
}

TEST_F(DestinationTest, MayEndInSlashes) {
  mkdir("a", 0755);
  EXPECT_EQ(Resolved("out/"), "out");
  EXPECT_EQ(Resolved("a/out///"), "a/out");
  EXPECT_EQ(Resolved("a//out"), "a/out");
}

TEST_F(DestinationTest, MayBeDots) {
  std::filesystem::create_directories("a/b");
  EXPECT_EQ(Resolved("a/."), "a");
  EXPECT_EQ(Resolved("a/b/.."), "a");
  EXPECT_EQ(Resolved("a/b/../"), "a");
  EXPECT_EQ(Resolved("."), ".");
  EXPECT_EQ(Resolved("./"), ".");
  EXPECT_EQ(Resolved("./out"), "out");
  EXPECT_EQ(Resolved("a/../out"), "out");
}

TEST_F(DestinationTest, IsWhereALinkAtTheEndLeads) {
  std::filesystem::create_directories("a/b");
  symlink("a/b", "link");
  symlink("a", "way");
  EXPECT_EQ(Resolved("link"), "a/b");
  EXPECT_EQ(Resolved("link/"), "a/b");
  EXPECT_EQ(Resolved("way/out"), "a/out");
}

TEST_F(DestinationTest, IsNotADanglingLink) {
  symlink("nowhere", "link");
  EXPECT_EQ(Resolved("link"), "FAILED_PRECONDITION");
}

TEST_F(DestinationTest, IsNotTheRootOfTheFileSystem) {
  EXPECT_EQ(Resolved("/"), "FAILED_PRECONDITION");
  EXPECT_EQ(Resolved("///"), "FAILED_PRECONDITION");
  EXPECT_EQ(Resolved("/.."), "FAILED_PRECONDITION");
}

TEST_F(DestinationTest, NeedsItsParent) {
  WriteFile("file", "");
  EXPECT_EQ(Resolved("nowhere/out"), "NOT_FOUND");
  EXPECT_EQ(Resolved("nowhere/.."), "NOT_FOUND");
  EXPECT_EQ(Resolved("file/out"), "NOT_FOUND");
  EXPECT_EQ(Resolved(""), "INVALID_ARGUMENT");
}

}  // namespace
}  // namespace casemate::files
