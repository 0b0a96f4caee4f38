#include "assemble/instance_stores.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "testing/store_helpers.h"
#include "testing/temp_dir.h"

namespace casemate::assemble {
namespace {

using testing::DigestOf;
using testing::Has;
using testing::MustPut;

std::unique_ptr<InstanceStores> Open(const std::string& address, bool separate,
                                     size_t max_instances = 256) {
  return InstanceStores::Open({.store = {.address = address, .sync = false},
                               .separate = separate,
                               .max_instances = max_instances})
      .value();
}

const actions::Instance& Find(InstanceStores& stores, std::string_view name) {
  return *stores.Find({}, name).value();
}

TEST(InstanceStores, SharesEverythingUnlessToldOtherwise) {
  const auto stores = Open("mem:", false);
  MustPut(Find(*stores, "a").store, "hello");
  EXPECT_TRUE(Has(Find(*stores, "b/c").store, DigestOf("hello")));
  EXPECT_NE(stores->Known("never seen"), nullptr);
}

TEST(InstanceStores, KeepsSeparateOnesApart) {
  const testing::TempDir dir;
  for (const std::string& address :
       {std::string("mem:"), "dir:" + (dir / "store")}) {
    const auto stores = Open(address, true);
    MustPut(Find(*stores, "a").store, "hello");
    EXPECT_TRUE(Has(Find(*stores, "a").store, DigestOf("hello")));
    EXPECT_FALSE(Has(Find(*stores, "b").store, DigestOf("hello")));
    EXPECT_FALSE(Has(Find(*stores, "").store, DigestOf("hello")));
    const actions::ActionKey key = {"x", DigestOf("action")};
    ASSERT_TRUE(Find(*stores, "a").actions.Update({}, key, Bytes()));
    EXPECT_TRUE(Find(*stores, "a").actions.Get({}, key));
    EXPECT_FALSE(Find(*stores, "b").actions.Get({}, key));
  }
}

TEST(InstanceStores, KnowsThoseThatWereFound) {
  const auto stores = Open("mem:", true);
  EXPECT_EQ(stores->Known("a"), nullptr);
  const auto& found = Find(*stores, "a");
  EXPECT_EQ(stores->Known("a"), &found);
}

TEST(InstanceStores, R036_NoNameReachesTheFileSystem) {
  const testing::TempDir dir;
  const auto stores = Open("dir:" + (dir / "store"), true);
  for (const char* name : {"..", "../../x", "a/b", "\xff", "x\ny"}) {
    MustPut(Find(*stores, name).store, "hello");
  }
  size_t folders = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(dir / "store/instances")) {
    EXPECT_EQ(entry.path().filename().string().size(), 64u);
    ++folders;
  }
  EXPECT_EQ(folders, 5u);
  EXPECT_FALSE(std::filesystem::exists(dir / "x"));
}

TEST(InstanceStores, IsBoundedInNumber) {
  const auto stores = Open("mem:", true, 2);
  Find(*stores, "a");
  Find(*stores, "b");
  EXPECT_EQ(stores->Find({}, "c").error().code, Code::kResourceExhausted);
  EXPECT_TRUE(stores->Find({}, "b"));
}

TEST(InstanceStores, KeepsActionResultsInTheStoresFolder) {
  const testing::TempDir dir;
  const actions::ActionKey key = {"", DigestOf("action")};
  ASSERT_TRUE(Find(*Open("dir:" + (dir / "store"), false), "")
                  .actions.Update({}, key, Bytes::FromString("result")));
  EXPECT_EQ(Find(*Open("dir:" + (dir / "store"), false), "")
                .actions.Get({}, key)
                .value()
                .view(),
            "result");
}

}  // namespace
}  // namespace casemate::assemble
