#include "tree/tree_builder.h"

#include <gtest/gtest.h>

#include "digest/hasher.h"

namespace casemate::tree {
namespace {

constexpr auto kSha256 = DigestFunction::kSha256;

// Keeps what the builder finishes.
class TreeBuilderTest : public ::testing::Test {
 protected:
  Directory Last() const {
    return Decode(finished_.back().bytes().view(), kSha256).value();
  }

  std::vector<Blob> finished_;
  bool root_finished_ = false;
  TreeBuilder builder_{kSha256, [this](Blob blob, bool is_root) {
                         EXPECT_FALSE(root_finished_);
                         root_finished_ = is_root;
                         finished_.push_back(std::move(blob));
                       }};
};

TEST_F(TreeBuilderTest, FinishesAnEmptyRootOnceItIsClosed) {
  const uint32_t root = builder_.OpenRoot({}, {});
  EXPECT_TRUE(finished_.empty());
  builder_.Close(root);
  ASSERT_TRUE(root_finished_);
  EXPECT_TRUE(digest::IsEmpty(finished_[0].digest()));
}

TEST_F(TreeBuilderTest, HoldsADirectoryOpenForItsLastFile) {
  const uint32_t root = builder_.OpenRoot({}, {});
  const auto file = builder_.AddFile(root, "a");
  builder_.Close(root);
  EXPECT_FALSE(root_finished_);
  builder_.File(file).digest = digest::EmptyDigest(kSha256);
  builder_.ResolveFile(file);
  ASSERT_TRUE(root_finished_);
  EXPECT_EQ(Last().files[0].name, "a");
}

TEST_F(TreeBuilderTest, FinishesChildrenBeforeTheirParent) {
  const uint32_t root = builder_.OpenRoot({}, {});
  const auto entry = builder_.AddDirectory(root, "d");
  builder_.Close(root);
  builder_.Close(builder_.Open(entry, {}, {.mtime = 1, .mode = {}}));
  ASSERT_EQ(finished_.size(), 2u);
  EXPECT_TRUE(root_finished_);
  EXPECT_EQ(Last().directories[0].digest, finished_[0].digest());
}

TEST_F(TreeBuilderTest, LeavesOutWhatWasDropped) {
  const uint32_t root = builder_.OpenRoot({}, {});
  const auto gone = builder_.AddFile(root, "a");
  const auto kept = builder_.AddFile(root, "b");
  const auto directory = builder_.AddDirectory(root, "c");
  builder_.Close(root);
  builder_.DropFile(gone);
  builder_.DropDirectory(directory);
  builder_.ResolveFile(kept);
  EXPECT_EQ(Last().files.size(), 1u);
  EXPECT_EQ(Last().files[0].name, "b");
  EXPECT_TRUE(Last().directories.empty());
}

TEST_F(TreeBuilderTest, KnowsPathsDepthsAndAncestors) {
  const uint32_t root = builder_.OpenRoot({1, 1}, {});
  const uint32_t a =
      builder_.Open(builder_.AddDirectory(root, "a"), {1, 2}, {});
  const auto b = builder_.AddDirectory(a, "b");
  EXPECT_EQ(builder_.PathOf(root), "");
  EXPECT_EQ(builder_.PathOf(a), "a");
  EXPECT_EQ(builder_.PathOf(b), "a/b");
  EXPECT_EQ(builder_.DepthOf(a), 1);
  EXPECT_TRUE(builder_.IsWithin(a, {1, 1}));
  EXPECT_TRUE(builder_.IsWithin(a, {1, 2}));
  EXPECT_FALSE(builder_.IsWithin(root, {1, 2}));
}

TEST_F(TreeBuilderTest, FinishesAHundredThousandLevelsWithoutRecursion) {
  uint32_t directory = builder_.OpenRoot({}, {});
  for (int i = 0; i < 100'000; ++i) {
    const auto child = builder_.AddDirectory(directory, "d");
    builder_.Close(directory);
    directory = builder_.Open(child, {}, {});
  }
  finished_.reserve(100'001);
  builder_.Close(directory);
  EXPECT_EQ(finished_.size(), 100'001u);
}

}  // namespace
}  // namespace casemate::tree
