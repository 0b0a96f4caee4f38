#include "reapi/server/tree_walk.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reapi/server/cas_for_test.h"
#include "reapi/server/tree_token.h"
#include "testing/counting_store.h"

namespace casemate::reapi {
namespace {

using testing::DigestOf;
using testing::MustPut;

class TreeWalkTest : public ::testing::Test {
 protected:
  Digest Put(const proto::Directory& directory) {
    return MustPut(store_, directory.SerializeAsString());
  }

  // The digests of the walk, or the code of its error.
  Result<std::vector<Digest>> Walk(const Digest& root) {
    TreeWalk walk(store_, admission_, root);
    std::vector<Digest> all;
    while (true) {
      auto next = walk.Next({});
      if (!next) return next.error();
      if (!*next) return all;
      EXPECT_EQ(DigestOf(std::string((*next)->bytes.view())), (*next)->digest);
      all.push_back((*next)->digest);
    }
  }

  const std::unique_ptr<BlobStore> memory_ = MakeMemoryStore();
  testing::CountingStore store_{*memory_};
  Admission admission_{int64_t{64} << 20};
};

TEST_F(TreeWalkTest, R136_GoesLevelByLevel) {
  const auto leaf = DirectoryOf({"leaf"}), other = DirectoryOf({"other"});
  auto middle = DirectoryOf({"middle"}), root = DirectoryOf({});
  AddChild(middle, "leaf", leaf.SerializeAsString());
  AddChild(root, "middle", middle.SerializeAsString());
  AddChild(root, "other", other.SerializeAsString());
  const std::vector expected = {Put(root), Put(middle), Put(other), Put(leaf)};
  EXPECT_EQ(Walk(expected[0]).value(), expected);
}

TEST_F(TreeWalkTest, R137_ThirtyLevelsOfTwoEqualChildrenAreThirtyOne) {
  auto directory = DirectoryOf({"leaf"});
  for (int level = 0; level < 30; ++level) {
    Put(directory);
    const std::string bytes = directory.SerializeAsString();
    directory = DirectoryOf({});
    AddChild(directory, "a", bytes);
    AddChild(directory, "b", bytes);
  }
  EXPECT_EQ(Walk(Put(directory))->size(), 31u);
  EXPECT_EQ(store_.got, 31);
}

TEST_F(TreeWalkTest, R152_RefusesNamesThatLeadAstray) {
  auto root = DirectoryOf({"../x"});
  EXPECT_EQ(Walk(Put(root)).error().code, Code::kInvalidArgument);
  auto parent = DirectoryOf({});
  AddChild(parent, "child", root.SerializeAsString());
  EXPECT_EQ(Walk(Put(parent)).error().code, Code::kInvalidArgument);
}

TEST_F(TreeWalkTest, ALargeBlobThatIsNoDirectoryIsNotReadIntoMemory) {
  const Digest text = MustPut(store_, testing::RandomText(3 << 20));
  EXPECT_EQ(Walk(text).error().code, Code::kInvalidArgument);
  EXPECT_EQ(store_.get_many, 0);
  EXPECT_EQ(admission_.peak(), 0);
}

TEST_F(TreeWalkTest, AHugeDigestThatIsAbsentIsNotFound) {
  const auto huge = Digest::FromHex(std::string(64, 'a'), INT64_MAX).value();
  EXPECT_EQ(Walk(huge).error().code, Code::kNotFound);
  auto root = DirectoryOf({});
  auto& node = *root.add_directories();
  node.set_name("a");
  *node.mutable_digest() = ToProto(huge);
  EXPECT_EQ(Walk(Put(root))->size(), 1u);
}

TEST_F(TreeWalkTest, MemoryForDirectoriesThatWereMetIsTakenFromTheBudget) {
  // One Directory that claims 50,000 others, none of which is there.
  auto root = DirectoryOf({});
  for (int i = 0; i < 50'000; ++i) {
    AddChild(root, std::to_string(i), std::to_string(i));
  }
  const Digest digest = Put(root);
  EXPECT_EQ(Walk(digest)->size(), 1u);
  EXPECT_GT(admission_.peak(), 50'000 * int64_t{sizeof(Digest)});
  EXPECT_EQ(admission_.used(), 0);
  const auto taken = admission_.TryTake((int64_t{64} << 20) - (5 << 20));
  EXPECT_EQ(Walk(digest).error().code, Code::kResourceExhausted);
}

TEST_F(TreeWalkTest, EndsWhenItIsCancelled) {
  TreeWalk walk(store_, admission_, Put(DirectoryOf({"a"})));
  EXPECT_EQ(walk.Next(testing::Cancelled()).error().code, Code::kCancelled);
}

TEST(TreeToken, GivesBackWhatItWasMadeOf) {
  TreeChain chain;
  chain.Add(0, DigestOf("root"));
  const TreeToken token = {17, chain.Hex()};
  const auto parsed =
      TreeToken::Parse(token.Format(DigestOf("root")), DigestOf("root"));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->next, 17u);
  EXPECT_EQ(parsed->chain, chain.Hex());
}

TEST(TreeToken, R142_RefusesEachChangedCharacterAndCut) {
  TreeChain chain;
  chain.Add(0, DigestOf("root"));
  const std::string good = TreeToken{17, chain.Hex()}.Format(DigestOf("root"));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == '1' ? '2' : '1';
    EXPECT_FALSE(TreeToken::Parse(bad, DigestOf("root"))) << bad;
    EXPECT_FALSE(TreeToken::Parse(good.substr(0, i), DigestOf("root")));
  }
  EXPECT_FALSE(TreeToken::Parse(good + "0", DigestOf("root")));
  EXPECT_FALSE(TreeToken::Parse(good, DigestOf("another")));
  EXPECT_FALSE(TreeToken::Parse("1-99999999999999-", DigestOf("root")));
}

TEST(TreeChain, DependsOnAllAndTheirOrder) {
  TreeChain a, b, c;
  a.Add(0, DigestOf("x"));
  a.Add(1, DigestOf("y"));
  b.Add(0, DigestOf("y"));
  b.Add(1, DigestOf("x"));
  c.Add(0, DigestOf("x"));
  c.Add(2, DigestOf("y"));
  EXPECT_NE(a.Hex(), b.Hex());
  EXPECT_NE(a.Hex(), c.Hex());
}

}  // namespace
}  // namespace casemate::reapi
