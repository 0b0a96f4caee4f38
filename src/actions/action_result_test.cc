#include "actions/action_result.h"

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "testing/store_helpers.h"

namespace casemate::actions {
namespace {

namespace proto = build::bazel::remote::execution::v2;
using testing::DigestOf;

constexpr DigestFunction kFunction = DigestFunction::kSha256;

proto::Digest ToProto(const Digest& digest) {
  proto::Digest message;
  message.set_hash(digest.Hex());
  message.set_size_bytes(digest.size());
  return message;
}

proto::OutputFile FileOf(const std::string& path, const std::string& text) {
  proto::OutputFile file;
  file.set_path(path);
  *file.mutable_digest() = ToProto(DigestOf(text));
  return file;
}

Bytes Serialized(const proto::ActionResult& result) {
  return Bytes::FromString(result.SerializeAsString());
}

Code CheckCode(const proto::ActionResult& result) {
  const auto checked = CheckResult(kFunction, Serialized(result));
  return checked ? Code::kOk : checked.error().code;
}

proto::ActionResult Parsed(const Bytes& bytes) {
  proto::ActionResult result;
  EXPECT_TRUE(
      result.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  return result;
}

TEST(CheckResult, LeavesAResultWithoutInlinedDataAsItCame) {
  proto::ActionResult result;
  *result.add_output_files() = FileOf("a", "a");
  *result.mutable_stdout_digest() = ToProto(DigestOf("out"));
  result.mutable_execution_metadata()->set_worker("w");
  // An unknown field, and the order of fields reversed.
  const Bytes bytes = Bytes::FromString(
      "\xc2\x3e\x03xyz" + result.SerializeAsString() + "\x20\x07");
  const auto checked = CheckResult(kFunction, bytes).value();
  EXPECT_EQ(checked.result.data(), bytes.data());
  EXPECT_TRUE(checked.inlined.empty());
}

TEST(CheckResult, R173_TakesOutWhatIsInlined) {
  proto::ActionResult result, expected;
  auto& file = *result.add_output_files();
  file.set_path("a");
  file.set_contents("content");
  file.set_is_executable(true);
  result.set_exit_code(3);
  result.set_stdout_raw("out");
  result.set_stderr_raw("err");
  *result.mutable_stderr_digest() = ToProto(DigestOf("err"));
  *expected.add_output_files() = FileOf("a", "content");
  expected.mutable_output_files(0)->set_is_executable(true);
  expected.set_exit_code(3);
  *expected.mutable_stdout_digest() = ToProto(DigestOf("out"));
  *expected.mutable_stderr_digest() = ToProto(DigestOf("err"));
  const auto checked = CheckResult(kFunction, Serialized(result)).value();
  EXPECT_EQ(Parsed(checked.result).SerializeAsString(),
            expected.SerializeAsString());
  ASSERT_EQ(checked.inlined.size(), 3u);
  for (const Blob& blob : checked.inlined) {
    EXPECT_TRUE(blob.verified());
    EXPECT_EQ(DigestOf(std::string(blob.bytes().view())), blob.digest());
  }
}

TEST(CheckResult, R173_RefusesInlinedDataWithAForeignDigest) {
  proto::ActionResult result;
  *result.add_output_files() = FileOf("a", "a");
  result.mutable_output_files(0)->set_contents("b");
  EXPECT_EQ(CheckCode(result), Code::kInvalidArgument);
  result.Clear();
  result.set_stdout_raw("a");
  *result.mutable_stdout_digest() = ToProto(DigestOf("b"));
  EXPECT_EQ(CheckCode(result), Code::kInvalidArgument);
}

TEST(CheckResult, R186_OutputPathsAreRelative) {
  for (const std::string& path : std::vector<std::string>{"/a", "/", ""}) {
    proto::ActionResult file, link, directory;
    *file.add_output_files() = FileOf(path, "x");
    EXPECT_EQ(CheckCode(file), Code::kInvalidArgument) << path;
    link.add_output_symlinks()->set_path(path);
    EXPECT_EQ(CheckCode(link), Code::kInvalidArgument) << path;
    auto& added = *directory.add_output_directories();
    added.set_path(path);
    *added.mutable_tree_digest() = ToProto(DigestOf(""));
    EXPECT_EQ(CheckCode(directory),
              path.empty() ? Code::kOk : Code::kInvalidArgument);
  }
}

TEST(CheckResult, R177_DigestsAreWellFormed) {
  for (const auto& [hash, size] : std::vector<std::pair<std::string, int64_t>>{
           {"", 0},
           {std::string(64, 'A'), 1},
           {std::string(63, 'a'), 1},
           {std::string(64, 'g'), 1},
           {std::string(40, 'a'), 1},
           {std::string(64, 'a'), -1}}) {
    proto::Digest bad;
    bad.set_hash(hash);
    bad.set_size_bytes(size);
    proto::ActionResult file, out, tree, root;
    *file.add_output_files() = FileOf("a", "a");
    *file.mutable_output_files(0)->mutable_digest() = bad;
    *out.mutable_stdout_digest() = bad;
    *tree.add_output_directories()->mutable_tree_digest() = bad;
    *root.add_output_directories()->mutable_root_directory_digest() = bad;
    for (const auto& result : {file, out, tree, root}) {
      EXPECT_EQ(CheckCode(result), Code::kInvalidArgument) << hash;
    }
  }
}

TEST(CheckResult, R005_OutputsHaveDigests) {
  proto::ActionResult file, directory;
  file.add_output_files()->set_path("a");
  directory.add_output_directories()->set_path("a");
  EXPECT_EQ(CheckCode(file), Code::kInvalidArgument);
  EXPECT_EQ(CheckCode(directory), Code::kInvalidArgument);
}

TEST(CheckResult, RefusesWhatOthersCouldNotParse) {
  for (const std::string& bytes : std::vector<std::string>{
           "\x12\x03\x0a\x05z", "\x4a\x02\x0a\x05", "\x4a\x03\x0a\x01\xff",
           "\x62\x03\x0a\x01\xff", "\x12", testing::RandomText(300)}) {
    EXPECT_FALSE(CheckResult(kFunction, Bytes::FromString(bytes)));
  }
}

TEST(CheckResult, WhatItAcceptsOthersCanParse) {
  proto::ActionResult sample;
  *sample.add_output_files() = FileOf("dir/a", "text");
  auto& properties = *sample.mutable_output_files(0)->mutable_node_properties();
  properties.add_properties()->set_name("n");
  properties.mutable_unix_mode()->set_value(0644);
  sample.add_output_symlinks()->set_path("link");
  auto& directory = *sample.add_output_directories();
  directory.set_path("d");
  *directory.mutable_tree_digest() = ToProto(DigestOf("tree"));
  sample.mutable_execution_metadata()->set_worker("worker");
  *sample.mutable_stdout_digest() = ToProto(DigestOf("out"));
  const std::string good = sample.SerializeAsString();
  std::mt19937 random(1);
  int accepted = 0;
  const google::protobuf::LogSilencer silencer;
  for (int i = 0; i < 50'000; ++i) {
    std::string bytes = good + (i % 3 == 0 ? good : "");
    for (int flips = 0; flips < 1 + i % 2; ++flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const auto checked = CheckResult(kFunction, Bytes::FromString(bytes));
    if (!checked) continue;
    ++accepted;
    proto::ActionResult parsed;
    EXPECT_TRUE(parsed.ParseFromString(bytes));
  }
  EXPECT_GT(accepted, 1000);
}

TEST(CheckResult, D26_TakesAllThreeListsOfSymlinksAndDanglingOnes) {
  proto::ActionResult result;
  for (auto* const link :
       {result.add_output_symlinks(), result.add_output_file_symlinks(),
        result.add_output_directory_symlinks()}) {
    link->set_path("link");
    link->set_target("/nowhere/../at/all");
  }
  EXPECT_EQ(CheckCode(result), Code::kOk);
}

TEST(CheckResult, AMillionInlinedBlobsAreRefused) {
  proto::ActionResult result;
  for (int i = 0; i < 10'001; ++i) {
    auto& file = *result.add_output_files();
    file.set_path("a");
    file.set_contents("x");
  }
  EXPECT_EQ(CheckCode(result), Code::kInvalidArgument);
}

proto::ActionResult Sample() {
  proto::ActionResult result;
  *result.add_output_files() = FileOf("dir/a", "text of a");
  *result.add_output_files() = FileOf("dir/ab", "text of ab");
  *result.add_output_files() = FileOf("empty", "");
  *result.mutable_stdout_digest() = ToProto(DigestOf("out"));
  *result.mutable_stderr_digest() = ToProto(DigestOf("err"));
  return result;
}

std::vector<Digest> Found(const InlineWishes& wishes, size_t max = 1 << 20) {
  std::vector<Digest> digests;
  const auto found =
      FindInlineable(kFunction, Serialized(Sample()), wishes, max).value();
  for (const auto& each : found) digests.push_back(each.digest);
  return digests;
}

TEST(FindInlineable, R167_FindsOnlyWhatIsAskedFor) {
  EXPECT_TRUE(Found({}).empty());
  EXPECT_EQ(Found({.stdout_blob = true}), std::vector{DigestOf("out")});
  EXPECT_EQ(Found({.stderr_blob = true}), std::vector{DigestOf("err")});
  EXPECT_TRUE(Found({.output_files = {"empty"}}).empty());
}

TEST(FindInlineable, R170_TakesExactPathsAlone) {
  EXPECT_EQ(Found({.output_files = {"dir/a"}}),
            std::vector{DigestOf("text of a")});
  EXPECT_TRUE(Found({.output_files = {"dir", "dir/", "a", "dir/a*"}}).empty());
}

TEST(FindInlineable, R169_LeavesOutWhatWouldMakeTheAnswerTooLarge) {
  const size_t base = Sample().ByteSizeLong();
  const InlineWishes all = {true, true, {"dir/a", "dir/ab"}};
  EXPECT_EQ(Found(all).size(), 4u);
  EXPECT_EQ(Found(all, base + 80).size(), 2u);
  EXPECT_TRUE(Found(all, base).empty());
  EXPECT_TRUE(Found(all, 0).empty());
}

TEST(WithInlined, R171_PutsDataBesideItsDigest) {
  const Bytes result = Serialized(Sample());
  auto blobs = FindInlineable(kFunction, result,
                              {true, true, {"dir/a", "dir/ab"}}, 1 << 20)
                   .value();
  ASSERT_EQ(blobs.size(), 4u);
  const std::string texts[] = {"out", "err", "text of a", "text of ab"};
  for (size_t i = 0; i < 4; ++i) blobs[i].data = Bytes::FromString(texts[i]);
  std::string joined;
  for (const Bytes& piece : WithInlined(result, blobs)) joined += piece.view();
  proto::ActionResult expected = Sample();
  expected.set_stdout_raw("out");
  expected.set_stderr_raw("err");
  expected.mutable_output_files(0)->set_contents("text of a");
  expected.mutable_output_files(1)->set_contents("text of ab");
  EXPECT_EQ(Parsed(Bytes::FromString(joined)).SerializeAsString(),
            expected.SerializeAsString());
}

TEST(WithInlined, LeavesOutBlobsThatCouldNotBeHad) {
  const Bytes result = Serialized(Sample());
  const auto blobs =
      FindInlineable(kFunction, result, {true, true, {"dir/a"}}, 1 << 20)
          .value();
  std::string joined;
  for (const Bytes& piece : WithInlined(result, blobs)) joined += piece.view();
  EXPECT_EQ(joined, result.view());
}

}  // namespace
}  // namespace casemate::actions
