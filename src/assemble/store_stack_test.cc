#include "assemble/store_stack.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "testing/temp_dir.h"

namespace casemate::assemble {
namespace {

TEST(StoreStack, OpensMemoryAndDisk) {
  const testing::TempDir dir;
  auto memory = StoreStack::Open({.address = "mem:"});
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->disk(), nullptr);
  auto disk = StoreStack::Open({.address = "dir:" + (dir / "store")});
  ASSERT_TRUE(disk) << disk.error().message;
  EXPECT_NE(disk->disk(), nullptr);
}

TEST(StoreStack, NamesWhatItKnowsWhenItDoesNotKnowAnAddress) {
  for (const char* address : {"", "s4://x", "dir", "/tmp/x", "mem:1"}) {
    const auto stack = StoreStack::Open({.address = address});
    ASSERT_FALSE(stack) << address;
    EXPECT_EQ(stack.error().code, Code::kInvalidArgument);
    EXPECT_NE(stack.error().message.find("dir:PATH"), std::string::npos);
  }
}

TEST(DefaultFolder, PrefersItsOwnVariableThenTheCacheThenHome) {
  setenv("HOME", "/h", 1);
  unsetenv("XDG_CACHE_HOME");
  unsetenv("CASEMATE_HOME");
  EXPECT_EQ(DefaultFolder().value(), "/h/.cache/casemate");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(DefaultFolder().value(), "/x/casemate");
  setenv("CASEMATE_HOME", "/c", 1);
  EXPECT_EQ(DefaultFolder().value(), "/c");
}

TEST(DefaultFolder, SaysWhatToSetWhereNothingIs) {
  for (const char* name : {"HOME", "XDG_CACHE_HOME", "CASEMATE_HOME"}) {
    unsetenv(name);
  }
  EXPECT_NE(DefaultFolder().error().message.find("--store"), std::string::npos);
}

}  // namespace
}  // namespace casemate::assemble
