#include "actions/completeness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "casemate/stores.h"
#include "digest/hasher.h"
#include "testing/counting_store.h"
#include "testing/failing_store.h"
#include "testing/store_helpers.h"

namespace casemate::actions {
namespace {

namespace proto = build::bazel::remote::execution::v2;
using testing::DigestOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MustPut;
using ::testing::UnorderedElementsAre;

proto::Digest ToProto(const Digest& digest) {
  proto::Digest message;
  message.set_hash(digest.Hex());
  message.set_size_bytes(digest.size());
  return message;
}

void AddFile(proto::Directory& directory, const std::string& name,
             const std::string& text) {
  auto& file = *directory.add_files();
  file.set_name(name);
  *file.mutable_digest() = ToProto(DigestOf(text));
}

void AddChild(proto::Directory& directory, const std::string& name,
              const proto::Directory& child) {
  auto& node = *directory.add_directories();
  node.set_name(name);
  *node.mutable_digest() = ToProto(DigestOf(child.SerializeAsString()));
}

void AddOutput(proto::ActionResult& result, const std::string& text) {
  auto& file = *result.add_output_files();
  file.set_path(text);
  *file.mutable_digest() = ToProto(DigestOf(text));
}

class MissingBlobsTest : public ::testing::Test {
 protected:
  Result<std::vector<Digest>> Search(const proto::ActionResult& result,
                                     const CompletenessLimits& limits = {}) {
    return MissingBlobs({}, store_, DigestFunction::kSha256,
                        Bytes::FromString(result.SerializeAsString()), limits);
  }

  std::vector<Digest> Missing(const proto::ActionResult& result,
                              const CompletenessLimits& limits = {}) {
    auto missing = Search(result, limits);
    EXPECT_TRUE(missing) << missing.error().message;
    return missing.value_or(std::vector<Digest>());
  }

  const std::unique_ptr<BlobStore> memory_ = MakeMemoryStore();
  testing::CountingStore store_{*memory_};
};

TEST_F(MissingBlobsTest, R185_AnEmptyResultIsComplete) {
  EXPECT_THAT(Missing({}), IsEmpty());
}

TEST_F(MissingBlobsTest, R165_OutputFilesCountAlsoInlinedOnes) {
  proto::ActionResult result;
  AddOutput(result, "a");
  AddOutput(result, "b");
  result.mutable_output_files(0)->set_contents("a");
  EXPECT_THAT(Missing(result),
              UnorderedElementsAre(DigestOf("a"), DigestOf("b")));
  MustPut(store_, "a");
  EXPECT_THAT(Missing(result), ElementsAre(DigestOf("b")));
  MustPut(store_, "b");
  EXPECT_THAT(Missing(result), IsEmpty());
}

TEST_F(MissingBlobsTest, R165_StdoutAndStderrCount) {
  proto::ActionResult result;
  *result.mutable_stdout_digest() = ToProto(DigestOf("out"));
  *result.mutable_stderr_digest() = ToProto(DigestOf("err"));
  EXPECT_THAT(Missing(result),
              UnorderedElementsAre(DigestOf("out"), DigestOf("err")));
}

TEST_F(MissingBlobsTest, R016_TheEmptyBlobIsAlwaysThere) {
  proto::ActionResult result;
  *result.mutable_stdout_digest() = ToProto(DigestOf(""));
  auto& directory = *result.add_output_directories();
  *directory.mutable_tree_digest() = ToProto(DigestOf(""));
  *directory.mutable_root_directory_digest() = ToProto(DigestOf(""));
  EXPECT_THAT(Missing(result), IsEmpty());
}

// A Tree of two directories with a file each.
proto::Tree SampleTree() {
  proto::Directory child;
  AddFile(child, "c", "in child");
  proto::Tree tree;
  AddFile(*tree.mutable_root(), "r", "in root");
  AddChild(*tree.mutable_root(), "child", child);
  *tree.add_children() = child;
  return tree;
}

proto::ActionResult ResultWithTree(const std::string& tree) {
  proto::ActionResult result;
  *result.add_output_directories()->mutable_tree_digest() =
      ToProto(DigestOf(tree));
  return result;
}

TEST_F(MissingBlobsTest, R165_ATreeAndEachFileInItCount) {
  const std::string tree = SampleTree().SerializeAsString();
  const auto result = ResultWithTree(tree);
  EXPECT_THAT(Missing(result), ElementsAre(DigestOf(tree)));
  MustPut(store_, tree);
  EXPECT_THAT(Missing(result),
              UnorderedElementsAre(DigestOf("in root"), DigestOf("in child")));
  MustPut(store_, "in root");
  EXPECT_THAT(Missing(result), ElementsAre(DigestOf("in child")));
}

TEST_F(MissingBlobsTest, D27_TheDirectoriesOfATreeNeedNotBeBlobs) {
  const std::string tree = SampleTree().SerializeAsString();
  for (const std::string& text :
       {tree, std::string("in root"), std::string("in child")}) {
    MustPut(store_, text);
  }
  EXPECT_THAT(Missing(ResultWithTree(tree)), IsEmpty());
}

TEST_F(MissingBlobsTest, ATreeLargerThanABatchIsReadAsAStream) {
  proto::Tree tree;
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = std::to_string(i);
    AddFile(*tree.mutable_root(), name, name);
    if (i != 17'777) MustPut(store_, name);
  }
  const std::string bytes = tree.SerializeAsString();
  ASSERT_GT(bytes.size(), 1u << 20);
  MustPut(store_, bytes);
  EXPECT_THAT(Missing(ResultWithTree(bytes)), ElementsAre(DigestOf("17777")));
  EXPECT_EQ(store_.get, 1);
}

TEST_F(MissingBlobsTest, OneLookUpForOutputsAndOneForFilesInTrees) {
  proto::ActionResult result;
  for (int i = 0; i < 50; ++i) {
    proto::Tree tree;
    AddFile(*tree.mutable_root(), "f",
            MustPut(store_, std::to_string(i)).Hex());
    tree.mutable_root()->mutable_files(0)->mutable_digest()->CopyFrom(
        ToProto(DigestOf(std::to_string(i))));
    const std::string bytes = tree.SerializeAsString();
    MustPut(store_, bytes);
    *result.add_output_directories()->mutable_tree_digest() =
        ToProto(DigestOf(bytes));
    AddOutput(result, std::to_string(i));
  }
  store_.find_missing = 0;
  EXPECT_THAT(Missing(result), IsEmpty());
  EXPECT_EQ(store_.find_missing, 2);
  EXPECT_EQ(store_.get_many, 1);
}

TEST_F(MissingBlobsTest, ATreeThatIsNamedTwiceIsReadOnce) {
  const std::string tree = SampleTree().SerializeAsString();
  MustPut(store_, tree);
  auto result = ResultWithTree(tree);
  for (int i = 0; i < 100; ++i) {
    *result.add_output_directories() = result.output_directories(0);
  }
  EXPECT_EQ(Missing(result).size(), 2u);
  EXPECT_EQ(store_.got, 1);
}

TEST_F(MissingBlobsTest, R165_EachDirectoryAndFileBelowARootCounts) {
  proto::Directory leaf, middle, root;
  AddFile(leaf, "f", "leaf file");
  AddChild(middle, "leaf", leaf);
  AddFile(root, "f", "root file");
  AddChild(root, "middle", middle);
  proto::ActionResult result;
  *result.add_output_directories()->mutable_root_directory_digest() =
      ToProto(DigestOf(root.SerializeAsString()));
  EXPECT_THAT(Missing(result), ElementsAre(DigestOf(root.SerializeAsString())));
  MustPut(store_, root.SerializeAsString());
  EXPECT_THAT(Missing(result),
              UnorderedElementsAre(DigestOf("root file"),
                                   DigestOf(middle.SerializeAsString())));
  MustPut(store_, middle.SerializeAsString());
  MustPut(store_, leaf.SerializeAsString());
  MustPut(store_, "root file");
  EXPECT_THAT(Missing(result), ElementsAre(DigestOf("leaf file")));
  MustPut(store_, "leaf file");
  EXPECT_THAT(Missing(result), IsEmpty());
}

TEST_F(MissingBlobsTest, ThirtyLevelsOfTwoEqualChildrenCostThirtyReads) {
  proto::Directory directory;
  AddFile(directory, "f", "leaf file");
  MustPut(store_, directory.SerializeAsString());
  for (int level = 0; level < 30; ++level) {
    proto::Directory parent;
    AddChild(parent, "a", directory);
    AddChild(parent, "b", directory);
    directory = parent;
    MustPut(store_, directory.SerializeAsString());
  }
  proto::ActionResult result;
  *result.add_output_directories()->mutable_root_directory_digest() =
      ToProto(DigestOf(directory.SerializeAsString()));
  EXPECT_THAT(Missing(result), ElementsAre(DigestOf("leaf file")));
  EXPECT_EQ(store_.got, 31);
}

TEST_F(MissingBlobsTest, R008_DirectoriesGoByTheDigestOfTheirStoredBytes) {
  proto::Directory files, children;
  AddFile(files, "f", "file");
  AddChild(children, "d", proto::Directory());
  // The fields in an order that nobody would write.
  const std::string bytes =
      children.SerializeAsString() + files.SerializeAsString();
  MustPut(store_, bytes);
  proto::ActionResult result;
  *result.add_output_directories()->mutable_root_directory_digest() =
      ToProto(DigestOf(bytes));
  EXPECT_THAT(Missing(result), ElementsAre(DigestOf("file")));
}

TEST_F(MissingBlobsTest, ATreeOfGarbageCountsAsMissing) {
  for (const std::string& garbage :
       {testing::RandomText(5000), std::string("#!/bin/sh\n"),
        testing::RandomText(3 << 20)}) {
    MustPut(store_, garbage);
    EXPECT_THAT(Missing(ResultWithTree(garbage)),
                ElementsAre(DigestOf(garbage)));
  }
}

TEST_F(MissingBlobsTest, R152_ATreeWithADangerousNameCountsAsMissing) {
  proto::Tree tree;
  AddFile(*tree.mutable_root(), "../x", "x");
  MustPut(store_, "x");
  MustPut(store_, tree.SerializeAsString());
  EXPECT_EQ(Missing(ResultWithTree(tree.SerializeAsString())).size(), 1u);
}

TEST_F(MissingBlobsTest, MillionsOfEmptyEntriesAreRefusedAtTheFirst) {
  std::string inside;
  for (int i = 0; i < 2'000'000; ++i) inside += std::string("\x0a\x00", 2);
  std::string bytes = std::string("\x0a", 1);
  for (size_t n = inside.size(); n > 0; n >>= 7) {
    bytes += static_cast<char>((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
  }
  bytes += inside;
  MustPut(store_, bytes);
  EXPECT_THAT(Missing(ResultWithTree(bytes)), ElementsAre(DigestOf(bytes)));
}

TEST_F(MissingBlobsTest, WhatIsBeyondALimitCountsAsMissing) {
  const std::string tree = SampleTree().SerializeAsString();
  for (const std::string& text :
       {tree, std::string("in root"), std::string("in child")}) {
    MustPut(store_, text);
  }
  EXPECT_THAT(Missing(ResultWithTree(tree), {.max_digests = 2}),
              ElementsAre(DigestOf(tree)));
  const std::string large = tree + std::string(2 << 20, '\0');
  EXPECT_THAT(Missing(ResultWithTree(large), {.max_tree_bytes = 1 << 20}),
              ElementsAre(DigestOf(large)));
}

TEST_F(MissingBlobsTest, MoreDirectoriesThanTheLimitCountAsMissing) {
  proto::Directory root;
  for (int i = 0; i < 5; ++i) {
    proto::Directory child;
    const std::string text = std::to_string(i);
    MustPut(store_, text);
    AddFile(child, "f", text);
    MustPut(store_, child.SerializeAsString());
    AddChild(root, std::to_string(i), child);
  }
  const Digest digest = MustPut(store_, root.SerializeAsString());
  proto::ActionResult result;
  *result.add_output_directories()->mutable_root_directory_digest() =
      ToProto(digest);
  EXPECT_THAT(Missing(result, {.max_directories = 6}), IsEmpty());
  EXPECT_THAT(Missing(result, {.max_directories = 5}), ElementsAre(digest));
}

TEST_F(MissingBlobsTest, EndsWhereItHasFoundEnough) {
  proto::ActionResult result;
  for (int i = 0; i < 100; ++i) AddOutput(result, std::to_string(i));
  EXPECT_EQ(Missing(result, {.max_missing = 10}).size(), 10u);
}

TEST_F(MissingBlobsTest, RefusesWhatIsNoResult) {
  for (const std::string& bytes :
       {std::string("\x12\x05garbage"), testing::RandomText(1000)}) {
    const auto missing = MissingBlobs({}, store_, DigestFunction::kSha256,
                                      Bytes::FromString(bytes));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::kInvalidArgument);
  }
  proto::ActionResult result;
  result.add_output_files()->set_path("no digest");
  EXPECT_EQ(Search(result).error().code, Code::kInvalidArgument);
}

TEST_F(MissingBlobsTest, R024_RefusesDigestsOfAnotherFunction) {
  proto::ActionResult result;
  *result.mutable_stdout_digest() =
      ToProto(DigestOf("x", DigestFunction::kSha1));
  EXPECT_EQ(Search(result).error().code, Code::kInvalidArgument);
}

TEST(MissingBlobs, DoesNotTakeAnOutageForAnAbsence) {
  testing::FailingStore down(Code::kUnavailable);
  proto::ActionResult result;
  AddOutput(result, "a");
  const auto missing =
      MissingBlobs({}, down, DigestFunction::kSha256,
                   Bytes::FromString(result.SerializeAsString()));
  EXPECT_EQ(missing.error().code, Code::kUnavailable);
}

TEST_F(MissingBlobsTest, StopsWhenItIsCancelled) {
  const std::string tree = SampleTree().SerializeAsString();
  MustPut(store_, tree);
  const auto missing =
      MissingBlobs(testing::Cancelled(), store_, DigestFunction::kSha256,
                   Bytes::FromString(ResultWithTree(tree).SerializeAsString()));
  EXPECT_EQ(missing.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace casemate::actions
