#include "tree/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include <map>

#include "casemate/stores.h"
#include "digest/hasher.h"
#include "testing/counting_store.h"
#include "testing/failing_store.h"
#include "testing/store_helpers.h"

namespace casemate::tree {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kSha256 = DigestFunction::kSha256;

FileNode File(std::string name, const std::string& content) {
  return {std::move(name), testing::DigestOf(content), false, {}};
}

Digest MustPut(BlobStore& store, Directory directory) {
  return testing::MustPut(store, Encode(std::move(directory)));
}

// A directory that holds others.
Directory Parent(std::vector<DirectoryNode> children) {
  Directory directory;
  directory.directories = std::move(children);
  return directory;
}

Directory Holding(std::vector<FileNode> files) {
  Directory directory;
  directory.files = std::move(files);
  return directory;
}

// `levels` directories one below the other, above `leaf`; each holds the next
// under all of `names`.
Digest Chain(BlobStore& store, int levels, Digest leaf,
             const std::vector<std::string>& names = {"d"}) {
  for (int i = 0; i < levels; ++i) {
    Directory directory;
    for (const std::string& name : names) {
      directory.directories.push_back({name, leaf});
    }
    leaf = MustPut(store, std::move(directory));
  }
  return leaf;
}

// Says of any bytes that they are what was asked for.
class LyingStore : public testing::FailingStore {
 public:
  LyingStore() : FailingStore(Code::kUnavailable) {}

  std::vector<Result<Blob>> GetMany(const Context&,
                                    std::span<const Digest> digests) override {
    std::vector<Result<Blob>> blobs;
    for (const Digest& digest : digests) {
      const auto lie = lies_.find(digest);
      blobs.push_back(lie == lies_.end()
                          ? Result<Blob>(Error{Code::kNotFound, "absent"})
                          : lie->second);
    }
    return blobs;
  }

  void Tell(const Digest& digest, Blob blob) {
    lies_.insert_or_assign(digest, std::move(blob));
  }

 private:
  std::map<Digest, Result<Blob>> lies_;
};

// Digests that no blob has, told apart by a number.
Digest Invented(int number, int64_t size = 1) {
  std::array<std::byte, 32> hash = {};
  std::memcpy(hash.data() + 16, &number, sizeof number);
  return Digest(kSha256, hash, size);
}

class PlanTest : public ::testing::Test {
 protected:
  Result<Plan> Fetch(const Digest& root, const PlanLimits& limits = {}) {
    return Plan::Fetch({}, store_, root, limits);
  }

  void ExpectError(const Result<Plan>& plan, Code code,
                   const std::string& text) {
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, code) << plan.error().message;
    EXPECT_THAT(plan.error().message, HasSubstr(text));
  }

  std::unique_ptr<BlobStore> memory_ = MakeMemoryStore();
  testing::CountingStore store_{*memory_};
};

TEST_F(PlanTest, OfTheEmptyDirectoryAsksNobody) {
  testing::FailingStore down(Code::kUnavailable);
  const auto plan = Plan::Fetch({}, down, digest::EmptyDigest(kSha256));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->places().size(), 1u);
  EXPECT_EQ(plan->totals().directories, 1);
  EXPECT_EQ(plan->totals().depth, 0);
  EXPECT_TRUE(plan->contents().empty());
}

TEST_F(PlanTest, ListsPlacesParentsFirstWithTheirPaths) {
  const Digest leaf = MustPut(store_, Holding({File("f", "1")}));
  const Digest middle = MustPut(store_, Parent({{"x", leaf}, {"y", leaf}}));
  const auto plan =
      Fetch(MustPut(store_, Parent({{"a", middle}, {"b", leaf}}))).value();
  std::vector<std::string> paths;
  for (uint32_t place = 0; place < plan.places().size(); ++place) {
    EXPECT_LE(plan.places()[place].parent, place);
    paths.push_back(plan.PathOf(place));
  }
  EXPECT_THAT(paths, ElementsAre("", "a", "b", "a/x", "a/y"));
}

TEST_F(PlanTest, GathersAllTargetsOfADistinctContent) {
  const Digest leaf =
      MustPut(store_, Holding({File("f", "same"), File("g", "other")}));
  Directory root = Parent({{"a", leaf}, {"b", leaf}});
  root.files = {File("same", "same")};
  const auto plan = Fetch(MustPut(store_, root)).value();
  ASSERT_EQ(plan.contents().size(), 2u);
  const Plan::Content& same = plan.contents()[0];
  EXPECT_EQ(same.digest, testing::DigestOf("same"));
  std::vector<std::string> paths;
  for (const Plan::Target& target : same.targets) {
    const Directory& directory = *plan.places()[target.place].directory;
    paths.push_back(plan.PathOf(target.place) + "/" +
                    directory.files[target.index].name);
  }
  EXPECT_THAT(paths, ElementsAre("/same", "a/f", "b/f"));
  EXPECT_EQ(plan.contents()[1].targets.size(), 2u);
}

TEST_F(PlanTest, CountsWhatTheTreeExpandsTo) {
  Directory inner = Holding({File("f", "12345")});
  inner.symlinks = {{"l", "f", {}}};
  const Digest leaf = MustPut(store_, inner);
  const auto plan =
      Fetch(MustPut(store_, Parent({{"a", leaf}, {"b", leaf}}))).value();
  EXPECT_EQ(plan.totals().files, 2);
  EXPECT_EQ(plan.totals().directories, 3);
  EXPECT_EQ(plan.totals().symlinks, 2);
  EXPECT_EQ(plan.totals().bytes, 10);
  EXPECT_EQ(plan.totals().depth, 1);
}

TEST_F(PlanTest, FetchesEachDistinctDirectoryOnceAndALevelAtATime) {
  const Digest leaf = MustPut(store_, Holding({File("f", "1")}));
  std::vector<DirectoryNode> children;
  for (int i = 100; i < 200; ++i) {
    const std::string name = std::to_string(i);
    children.push_back({name, MustPut(store_, Parent({{name, leaf}}))});
  }
  ASSERT_TRUE(Fetch(MustPut(store_, Parent(children))));
  EXPECT_EQ(store_.got, 102);
  EXPECT_EQ(store_.get_many, 3);
}

TEST_F(PlanTest, SurvivesBeingMoved) {
  const Digest leaf = MustPut(store_, Holding({File("f", "1")}));
  Plan first = Fetch(MustPut(store_, Parent({{"a", leaf}}))).value();
  const Plan second = std::move(first);
  EXPECT_EQ(second.PathOf(1), "a");
  EXPECT_EQ(second.places()[1].directory->files[0].name, "f");
  EXPECT_EQ(second.contents()[0].targets[0].place, 1u);
}

TEST_F(PlanTest, TakesOneDigestAsFileAndAsDirectory) {
  const Digest leaf = MustPut(store_, Holding({File("f", "1")}));
  Directory root = Parent({{"d", leaf}});
  root.files = {{"f", leaf, false, {}}};
  EXPECT_EQ(Fetch(MustPut(store_, root))->contents().size(), 2u);
}

TEST_F(PlanTest, NamesAMissingDirectoryAndItsPath) {
  const Digest missing = testing::DigestOf("never put");
  const Digest middle = MustPut(store_, Parent({{"b", missing}}));
  const auto plan = Fetch(MustPut(store_, Parent({{"a", middle}})));
  ExpectError(plan, Code::kNotFound, "directory \"a/b\"");
  ExpectError(plan, Code::kNotFound, missing.ToString());
}

TEST_F(PlanTest, NamesAMissingRoot) {
  ExpectError(Fetch(testing::DigestOf("never put")), Code::kNotFound,
              "root directory");
}

// A cycle needs a directory that contains its own digest; what comes of trying
// is a blob that nobody has.
TEST_F(PlanTest, OfACycleThroughAMissingBlobIsNotFound) {
  const Digest unknown = Invented(1);
  const Digest child = MustPut(store_, Parent({{"up", unknown}}));
  ExpectError(Fetch(MustPut(store_, Parent({{"child", child}}))),
              Code::kNotFound, "child/up");
}

TEST_F(PlanTest, OfATrueCycleEndsEvenIfTheStoreVouchesForIt) {
  LyingStore store;
  const Digest a = Invented(1), b = Invented(2), root = Invented(3);
  const auto tell = [&](const Digest& digest, Directory directory) {
    store.Tell(digest,
               Blob::Verified(digest, Bytes::FromString(Encode(directory))));
  };
  tell(root, Parent({{"a", a}}));
  tell(a, Parent({{"b", b}}));
  tell(b, Parent({{"a", a}}));
  ExpectError(Plan::Fetch({}, store, root), Code::kInvalidArgument, "itself");
  tell(root, Parent({{"root", root}}));
  ExpectError(Plan::Fetch({}, store, root), Code::kInvalidArgument, "itself");
}

TEST_F(PlanTest, OfWrongBytesIsDataLoss) {
  LyingStore store;
  const Digest root = testing::DigestOf("right");
  store.Tell(root, Blob::Claimed(root, Bytes::FromString("wrong")));
  ExpectError(Plan::Fetch({}, store, root), Code::kDataLoss, "root directory");
  store.Tell(root, testing::BlobOf("wrong"));
  ExpectError(Plan::Fetch({}, store, root), Code::kDataLoss, "root directory");
}

TEST_F(PlanTest, OfAWrongSizeIsNotFound) {
  const Digest right = MustPut(store_, Holding({File("f", "1")}));
  const Digest wrong(kSha256, right.hash(), right.size() + 1);
  ExpectError(Fetch(wrong), Code::kNotFound, "root directory");
}

TEST_F(PlanTest, SaysWhereADirectoryIsInvalid) {
  const Digest bad = testing::MustPut(store_, "not a message");
  ExpectError(Fetch(MustPut(store_, Parent({{"a\nb", bad}}))),
              Code::kInvalidArgument, "directory \"a\\x0ab\"");
}

TEST_F(PlanTest, RefusesDirectoriesOfAnotherDigestFunction) {
  const Digest root = testing::MustPut(store_, [] {
    Directory directory;
    directory.directories = {
        {"d", testing::DigestOf("x", DigestFunction::kSha1)}};
    return Encode(directory);
  }());
  ExpectError(Fetch(root), Code::kInvalidArgument, "sha1");
}

TEST_F(PlanTest, RefusesALargeDirectoryUnfetched) {
  const Digest large = Invented(1, 1001);
  ExpectError(Fetch(MustPut(store_, Parent({{"d", large}})),
                    {.max_directory_bytes = 1000}),
              Code::kResourceExhausted, "directory \"d\"");
  EXPECT_EQ(store_.got, 1);
}

TEST_F(PlanTest, GoesTenThousandDeepWhereTheLimitAllows) {
  const Digest root = Chain(store_, 10'000, digest::EmptyDigest(kSha256));
  const auto plan = Fetch(root, {.max_depth = 10'000});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->totals().depth, 10'000);
  EXPECT_EQ(plan->PathOf(10'000).size(), 2u * 10'000 - 1);
}

TEST_F(PlanTest, RefusesTenThousandDeepByDefaultAndStopsThere) {
  const Digest root = Chain(store_, 10'000, digest::EmptyDigest(kSha256));
  ExpectError(Fetch(root), Code::kResourceExhausted, "deeper than 8192");
  EXPECT_EQ(store_.got, 8193);
}

// Here the first way down is short, so that only the totals tell.
TEST_F(PlanTest, RefusesDepthThatOnlyALongerWayReaches) {
  const Digest leaf =
      MustPut(store_, Parent({{"e", digest::EmptyDigest(kSha256)}}));
  const Digest longer = Chain(store_, 3, leaf);
  const Digest root =
      MustPut(store_, Parent({{"long", longer}, {"short", leaf}}));
  EXPECT_EQ(Fetch(root)->totals().depth, 5);
  ExpectError(Fetch(root, {.max_depth = 4}), Code::kResourceExhausted, "5");
}

TEST_F(PlanTest, RefusesExponentialExpansionAtTheCostOfTheGraph) {
  const Digest leaf = MustPut(store_, Holding({File("f", "1")}));
  const Digest root = Chain(store_, 30, leaf, {"a", "b"});
  ExpectError(Fetch(root), Code::kResourceExhausted, "entries");
  EXPECT_EQ(store_.got, 31);
}

TEST_F(PlanTest, SaturatesWhereExpansionPassesSixtyFourBits) {
  const Digest leaf =
      MustPut(store_, Holding({{"f", Invented(1, INT64_MAX), false, {}}}));
  const Digest root = Chain(store_, 100, leaf, {"a", "b", "c"});
  ExpectError(Fetch(root, {.max_entries = INT64_MAX}), Code::kResourceExhausted,
              "at least");
}

TEST_F(PlanTest, RefusesMoreBytesThanTheLimit) {
  const Digest leaf = MustPut(store_, Holding({File("f", "12345")}));
  const Digest root = MustPut(store_, Parent({{"a", leaf}, {"b", leaf}}));
  EXPECT_TRUE(Fetch(root, {.max_bytes = 10}));
  ExpectError(Fetch(root, {.max_bytes = 9}), Code::kResourceExhausted, "bytes");
}

TEST_F(PlanTest, CountsTheRootAmongTheEntries) {
  const Digest root =
      MustPut(store_, Holding({File("f", "1"), File("g", "1")}));
  EXPECT_TRUE(Fetch(root, {.max_entries = 3}));
  ExpectError(Fetch(root, {.max_entries = 2}), Code::kResourceExhausted,
              "entries");
}

TEST_F(PlanTest, HoldsADirectoryOfAHundredThousandEntries) {
  Directory directory;
  for (int i = 0; i < 100'000; ++i) {
    directory.files.push_back(
        {std::to_string(i), Invented(i % 50'000), false, {}});
  }
  const auto plan = Fetch(MustPut(store_, std::move(directory))).value();
  EXPECT_EQ(plan.contents().size(), 50'000u);
  EXPECT_EQ(plan.totals().files, 100'000);
}

// All of these agree in their first sixteen bytes.
TEST_F(PlanTest, TakesLinearTimeForDigestsMadeToCollide) {
  Directory directory;
  for (int i = 0; i < 200'000; ++i) {
    directory.files.push_back({std::to_string(i), Invented(i), false, {}});
  }
  EXPECT_EQ(Fetch(MustPut(store_, std::move(directory)))->contents().size(),
            200'000u);
}

TEST_F(PlanTest, StopsWhenItsContextSaysSo) {
  const Digest root = MustPut(store_, Holding({File("f", "1")}));
  ExpectError(Plan::Fetch(testing::Cancelled(), store_, root, {}),
              Code::kCancelled, "");
}

TEST_F(PlanTest, PassesTheErrorOfTheStoreOn) {
  testing::FailingStore down(Code::kUnavailable);
  ExpectError(Plan::Fetch({}, down, Invented(1)), Code::kUnavailable,
              "root directory");
}

}  // namespace
}  // namespace casemate::tree
