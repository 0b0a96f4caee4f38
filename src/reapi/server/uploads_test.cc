#include "reapi/server/uploads.h"

#include <gtest/gtest.h>

#include "testing/store_helpers.h"

namespace casemate::reapi {
namespace {

ResourceName Name(std::string_view uuid, Encoding encoding = {}) {
  ResourceName name;
  name.uuid = uuid;
  name.encoding = encoding;
  name.digest = casemate::testing::DigestOf("hello");
  return name;
}

const rpc::Waker kNobody = [] {};

TEST(Uploads, R081_TheSecondOfANameIsAnUploadOfItsOwn) {
  Uploads uploads;
  const auto first = uploads.Begin(Name("u"), kNobody);
  const auto second = uploads.Begin(Name("u"), kNobody);
  EXPECT_FALSE(first->id().empty());
  EXPECT_TRUE(second->id().empty());
  EXPECT_EQ(uploads.under_way(), 1u);
}

TEST(Uploads, D11_FormAndUuidAreOfTheName) {
  Uploads uploads;
  const auto first = uploads.Begin(Name("u"), kNobody);
  EXPECT_FALSE(uploads.Begin(Name("v"), kNobody)->id().empty());
  EXPECT_FALSE(
      uploads.Begin(Name("u", Encoding::kZstd), kNobody)->id().empty());
}

TEST(Uploads, OnlyWhatWasKeptCanBeContinued) {
  Uploads uploads;
  uploads.Begin(Name("u"), kNobody).reset();
  EXPECT_EQ(uploads.Continue(Name("u"), 5, kNobody).claim, nullptr);
  uploads.Begin(Name("u"), kNobody)->Keep();
  EXPECT_EQ(uploads.left(), 1u);
  const auto continued = uploads.Continue(Name("u"), 5, kNobody);
  ASSERT_NE(continued.claim, nullptr);
  EXPECT_FALSE(continued.claim->id().empty());
  EXPECT_EQ(uploads.left(), 0u);
}

TEST(Uploads, R081_WhoContinuesAsksTheHolderToLetGo) {
  Uploads uploads;
  int asked = 0, told = 0;
  auto holder = uploads.Begin(Name("u"), [&] { ++asked; });
  holder->SetCommitted(100);
  EXPECT_TRUE(uploads.Continue(Name("u"), 100, [&] { ++told; }).wait);
  EXPECT_TRUE(holder->superseded());
  EXPECT_EQ(asked, 1);
  holder->Keep();
  holder.reset();
  EXPECT_EQ(told, 1);
  EXPECT_NE(uploads.Continue(Name("u"), 100, kNobody).claim, nullptr);
}

TEST(Uploads, R081_NobodyIsAskedForMoreThanWasCommitted) {
  Uploads uploads;
  const auto holder = uploads.Begin(Name("u"), [] { FAIL(); });
  holder->SetCommitted(100);
  const auto continued = uploads.Continue(Name("u"), 101, kNobody);
  EXPECT_FALSE(continued.wait || continued.claim);
  EXPECT_FALSE(holder->superseded());
}

TEST(Uploads, R102_LookingFindsWhatIsCommitted) {
  Uploads uploads;
  EXPECT_FALSE(uploads.Look(Name("u")).committed);
  auto holder = uploads.Begin(Name("u"), kNobody);
  holder->SetCommitted(7);
  EXPECT_EQ(uploads.Look(Name("u")).committed, 7);
  holder->Keep();
  holder.reset();
  const auto found = uploads.Look(Name("u"));
  EXPECT_FALSE(found.committed);
  EXPECT_NE(found.claim, nullptr);
}

TEST(Uploads, R090_ForgetsWhatWasLeftLongestAgo) {
  Uploads uploads(2);
  for (const std::string_view uuid : {"a", "b", "c"}) {
    uploads.Begin(Name(uuid), kNobody)->Keep();
  }
  EXPECT_EQ(uploads.left(), 2u);
  EXPECT_EQ(uploads.Continue(Name("a"), 1, kNobody).claim, nullptr);
  EXPECT_NE(uploads.Continue(Name("c"), 1, kNobody).claim, nullptr);
}

}  // namespace
}  // namespace casemate::reapi
