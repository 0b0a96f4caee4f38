#include "reapi/wire/digest_fields.h"

#include <gtest/gtest.h>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "digest/hasher.h"
#include "reapi/wire/for_test.h"

namespace casemate::reapi {
namespace {

namespace re = build::bazel::remote::execution::v2;

Result<Digest> Parse(const std::vector<Bytes>& pieces) {
  DigestField field;
  if (!field.Merge(FieldReader(pieces))) {
    return Error{Code::kUnknown, "no message"};
  }
  return field.Get();
}

Result<Digest> Parse(const std::string& hash, int64_t size) {
  re::Digest digest;
  digest.set_hash(hash);
  digest.set_size_bytes(size);
  const std::vector<Bytes> pieces = {
      Bytes::FromString(digest.SerializeAsString())};
  return Parse(pieces);
}

const Digest kHello = digest::Hash(DigestFunction::kSha256, AsBytes("hello"));

TEST(DigestField, ReadsWhatTheGeneratedMessageWritesWhereverItIsCut) {
  std::mt19937 random(7);
  for (int i = 0; i < 50; ++i) {
    const Digest digest = testing::RandomDigest(random);
    re::Digest message;
    message.set_hash(digest.Hex());
    message.set_size_bytes(digest.size());
    const std::string text =
        message.SerializeAsString() + testing::UnknownFields();
    for (size_t at = 0; at <= text.size(); ++at) {
      EXPECT_EQ(*Parse(testing::CutAt(text, at)), digest);
    }
  }
}

TEST(DigestField, WritesWhatTheGeneratedMessageReads) {
  std::mt19937 random(8);
  for (int i = 0; i < 200; ++i) {
    const Digest digest = testing::RandomDigest(random);
    std::string text;
    AppendDigestField(text, 2, digest);
    re::FindMissingBlobsResponse message;
    ASSERT_TRUE(message.ParseFromString(text));
    EXPECT_EQ(message.missing_blob_digests(0).hash(), digest.Hex());
    EXPECT_EQ(message.missing_blob_digests(0).size_bytes(), digest.size());
    EXPECT_EQ(message.SerializeAsString(), text);
  }
}

TEST(DigestField, R001_RefusesWhatIsNoLowercaseHexOfFullLength) {
  std::string upper = kHello.Hex();
  upper[0] = 'A';
  std::string letter = kHello.Hex();
  letter[63] = 'g';
  for (const std::string& hash :
       {upper, letter, kHello.Hex().substr(1), kHello.Hex() + "00",
        std::string(), std::string(129, 'a'), std::string(100000, 'a')}) {
    const auto parsed = Parse(hash, 5);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
    EXPECT_LT(parsed.error().message.size(), 400u);
  }
}

TEST(DigestField, R004_RefusesANegativeSize) {
  EXPECT_EQ(Parse(kHello.Hex(), -1).error().code, Code::kInvalidArgument);
}

TEST(DigestField, R005_RefusesADigestThatNeverCame) {
  EXPECT_EQ(DigestField().Get().error().code, Code::kInvalidArgument);
}

TEST(DigestField, MergesOccurrencesOfOneField) {
  re::Digest hash, size;
  hash.set_hash(kHello.Hex());
  size.set_size_bytes(5);
  const std::vector<Bytes> first = {
      Bytes::FromString(hash.SerializeAsString())};
  const std::vector<Bytes> second = {
      Bytes::FromString(size.SerializeAsString())};
  DigestField field;
  EXPECT_TRUE(field.Merge(FieldReader(first)));
  EXPECT_TRUE(field.Merge(FieldReader(second)));
  EXPECT_EQ(*field.Get(), kHello);
}

TEST(FunctionCheck, R022_InfersTheFunctionFromTheFirstHash) {
  for (const DigestFunction function : kDigestFunctions) {
    auto check = FunctionCheck::Start(0);
    EXPECT_TRUE(check->Check(digest::EmptyDigest(function)));
  }
}

TEST(FunctionCheck, R024_RefusesHashesThatDoNotFitOrDiffer) {
  auto stated = FunctionCheck::Start(2);
  EXPECT_EQ(stated->Check(kHello).error().code, Code::kInvalidArgument);
  auto mixed = FunctionCheck::Start(0);
  EXPECT_TRUE(mixed->Check(kHello));
  EXPECT_EQ(
      mixed->Check(digest::EmptyDigest(DigestFunction::kSha1)).error().code,
      Code::kInvalidArgument);
}

TEST(FunctionCheck, R025_RefusesFunctionsThatAreNotOffered) {
  for (const int64_t number : {3, 4, 7, 8, 9, 10, 77, -1}) {
    const auto check = FunctionCheck::Start(number);
    ASSERT_FALSE(check) << number;
    EXPECT_EQ(check.error().code, Code::kInvalidArgument);
  }
  EXPECT_NE(FunctionCheck::Start(3).error().message.find("md5"),
            std::string::npos);
}

TEST(FunctionCheck, KnowsTheNumbersOfTheProtocol) {
  for (int number = 1; number <= 10; ++number) {
    std::string name = re::DigestFunction::Value_Name(
        static_cast<re::DigestFunction::Value>(number));
    for (char& each : name) each = static_cast<char>(std::tolower(each));
    EXPECT_EQ(FunctionName(number), name);
    EXPECT_TRUE(IsFunctionName(name));
    const bool offered = ParseDigestFunction(name).has_value();
    EXPECT_EQ(FunctionCheck::Start(number).has_value(), offered) << name;
  }
  EXPECT_EQ(FunctionName(11), "");
  EXPECT_FALSE(IsFunctionName(""));
}

}  // namespace
}  // namespace casemate::reapi
