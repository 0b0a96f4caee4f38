#include "reapi/wire/batch_messages.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "digest/hasher.h"
#include "google/rpc/status.pb.h"
#include "reapi/wire/for_test.h"

namespace casemate::reapi {
namespace {

namespace re = build::bazel::remote::execution::v2;
using testing::Below;
using testing::CutAt;
using testing::CutAtRandom;
using testing::RandomBytes;
using testing::RandomDigest;
using testing::UnknownFields;

void Set(re::Digest& message, const Digest& digest) {
  message.set_hash(digest.Hex());
  message.set_size_bytes(digest.size());
}

bool Same(const re::Digest& message, const Digest& digest) {
  return message.hash() == digest.Hex() &&
         message.size_bytes() == digest.size();
}

re::FindMissingBlobsRequest RandomFind(std::mt19937& random) {
  re::FindMissingBlobsRequest message;
  message.set_instance_name(std::string(Below(random, 9), 'i'));
  for (size_t i = Below(random, 9); i > 0; --i) {
    Set(*message.add_blob_digests(), RandomDigest(random));
  }
  if (random() % 2 == 0) {
    message.set_digest_function(re::DigestFunction::SHA256);
  }
  return message;
}

TEST(BatchMessages, FindMissingIsReadAsTheGeneratedOneDoes) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const std::string text = RandomFind(random).SerializeAsString() +
                             UnknownFields() +
                             RandomFind(random).SerializeAsString();
    re::FindMissingBlobsRequest theirs;
    ASSERT_TRUE(theirs.ParseFromString(text));
    const auto ours = ParseFindMissingRequest(CutAtRandom(text, random));
    ASSERT_TRUE(ours);
    EXPECT_EQ(ours->instance, theirs.instance_name());
    ASSERT_EQ(ours->digests.size(),
              static_cast<size_t>(theirs.blob_digests_size()));
    EXPECT_TRUE(std::ranges::equal(theirs.blob_digests(), ours->digests, Same));
  }
}

TEST(BatchMessages, FindMissingIsReadCutAtEveryByteAndWhenTruncated) {
  std::mt19937 random(2);
  const std::string text =
      RandomFind(random).SerializeAsString() + UnknownFields();
  for (size_t at = 0; at <= text.size(); ++at) {
    EXPECT_TRUE(ParseFindMissingRequest(CutAt(text, at)));
    re::FindMissingBlobsRequest theirs;
    const std::string part = text.substr(0, at);
    EXPECT_EQ(ParseFindMissingRequest(CutAt(part, at / 2)).has_value(),
              theirs.ParseFromString(part));
  }
}

TEST(BatchMessages, FindMissingIsAnsweredAsTheGeneratedOne) {
  std::mt19937 random(3);
  re::FindMissingBlobsResponse theirs;
  std::vector<Digest> missing;
  for (int i = 0; i < 100; ++i) {
    missing.push_back(RandomDigest(random));
    Set(*theirs.add_missing_blob_digests(), missing.back());
  }
  EXPECT_EQ(FormatFindMissingResponse(missing).view(),
            theirs.SerializeAsString());
}

template <typename Message>
Code FindCode(const Message& message) {
  const auto parsed =
      ParseFindMissingRequest(CutAt(message.SerializeAsString(), 3));
  return parsed ? Code::kOk : parsed.error().code;
}

TEST(BatchMessages, R024_MixedFunctionsAreRefused) {
  re::FindMissingBlobsRequest message;
  Set(*message.add_blob_digests(),
      digest::EmptyDigest(DigestFunction::kSha256));
  EXPECT_EQ(FindCode(message), Code::kOk);
  message.set_digest_function(re::DigestFunction::SHA1);
  EXPECT_EQ(FindCode(message), Code::kInvalidArgument);
  message.clear_digest_function();
  Set(*message.add_blob_digests(), digest::EmptyDigest(DigestFunction::kSha1));
  EXPECT_EQ(FindCode(message), Code::kInvalidArgument);
}

TEST(BatchMessages, R025_FunctionsThatAreNotOfferedAreRefusedEverywhere) {
  for (const int number : {3, 9, 77}) {
    const auto function = static_cast<re::DigestFunction::Value>(number);
    re::FindMissingBlobsRequest find;
    find.set_digest_function(function);
    re::BatchReadBlobsRequest read;
    read.set_digest_function(function);
    re::BatchUpdateBlobsRequest update;
    update.set_digest_function(function);
    EXPECT_EQ(FindCode(find), Code::kInvalidArgument);
    EXPECT_FALSE(ParseBatchReadRequest(CutAt(read.SerializeAsString(), 0)));
    EXPECT_FALSE(ParseBatchUpdateRequest(CutAt(update.SerializeAsString(), 0)));
  }
}

TEST(BatchMessages, R005_AnItemWithoutDigestIsRefused) {
  re::FindMissingBlobsRequest find;
  find.add_blob_digests();
  EXPECT_EQ(FindCode(find), Code::kInvalidArgument);
  re::BatchUpdateBlobsRequest update;
  update.add_requests()->set_data("hello");
  EXPECT_EQ(ParseBatchUpdateRequest(CutAt(update.SerializeAsString(), 0))
                .error()
                .code,
            Code::kInvalidArgument);
}

re::BatchUpdateBlobsRequest RandomUpdate(std::mt19937& random) {
  re::BatchUpdateBlobsRequest message;
  message.set_instance_name(std::string(Below(random, 9), 'i'));
  for (size_t i = Below(random, 5); i > 0; --i) {
    auto& item = *message.add_requests();
    Set(*item.mutable_digest(), RandomDigest(random));
    item.set_data(RandomBytes(random, 200));
    item.set_compressor(static_cast<re::Compressor::Value>(Below(random, 80)));
  }
  return message;
}

void ExpectSame(const BatchUpdateRequest& ours,
                const re::BatchUpdateBlobsRequest& theirs) {
  EXPECT_EQ(ours.instance, theirs.instance_name());
  ASSERT_EQ(ours.items.size(), static_cast<size_t>(theirs.requests_size()));
  for (size_t i = 0; i < ours.items.size(); ++i) {
    const auto& item = theirs.requests(static_cast<int>(i));
    EXPECT_TRUE(Same(item.digest(), ours.items[i].digest));
    EXPECT_EQ(ours.items[i].data.Joined().view(), item.data());
    EXPECT_EQ(ours.items[i].compressor, item.compressor());
  }
}

TEST(BatchMessages, UpdateIsReadAsTheGeneratedOneDoes) {
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    const std::string text = RandomUpdate(random).SerializeAsString() +
                             UnknownFields() +
                             RandomUpdate(random).SerializeAsString();
    re::BatchUpdateBlobsRequest theirs;
    ASSERT_TRUE(theirs.ParseFromString(text));
    const auto ours = ParseBatchUpdateRequest(CutAtRandom(text, random));
    ASSERT_TRUE(ours);
    ExpectSame(*ours, theirs);
  }
}

TEST(BatchMessages, UpdateIsReadCutAtEveryByteAndWhenTruncated) {
  std::mt19937 random(6);
  const re::BatchUpdateBlobsRequest message = RandomUpdate(random);
  const std::string text = message.SerializeAsString() + UnknownFields();
  for (size_t at = 0; at <= text.size(); ++at) {
    ExpectSame(*ParseBatchUpdateRequest(CutAt(text, at)), message);
    re::BatchUpdateBlobsRequest theirs;
    const std::string part = text.substr(0, at);
    EXPECT_EQ(ParseBatchUpdateRequest(CutAt(part, at / 2)).has_value(),
              theirs.ParseFromString(part));
  }
}

TEST(BatchMessages, ARepeatedDigestOfAnItemIsMerged) {
  re::BatchUpdateBlobsRequest::Request hash, size;
  const Digest hello = digest::Hash(DigestFunction::kSha256, AsBytes("hello"));
  hash.mutable_digest()->set_hash(hello.Hex());
  size.mutable_digest()->set_size_bytes(5);
  std::string text;
  AppendBytesField(text, 2,
                   hash.SerializeAsString() + size.SerializeAsString());
  re::BatchUpdateBlobsRequest theirs;
  ASSERT_TRUE(theirs.ParseFromString(text));
  const auto ours = ParseBatchUpdateRequest(CutAt(text, 40));
  ASSERT_TRUE(ours);
  ExpectSame(*ours, theirs);
}

TEST(BatchMessages, UpdateRefersToTheMessagesBytes) {
  re::BatchUpdateBlobsRequest message;
  auto& item = *message.add_requests();
  Set(*item.mutable_digest(), digest::EmptyDigest(DigestFunction::kSha256));
  item.set_data(std::string(1000, 'x'));
  const std::vector<Bytes> pieces = {
      Bytes::FromString(message.SerializeAsString())};
  const auto ours = ParseBatchUpdateRequest(pieces);
  const std::byte* const data = ours->items[0].data.piece(0).data();
  EXPECT_TRUE(data > pieces[0].data() &&
              data < pieces[0].data() + pieces[0].size());
}

TEST(BatchMessages, UpdateIsAnsweredAsTheGeneratedOneUnderstands) {
  std::mt19937 random(7);
  std::vector<BatchUpdateResult> results;
  for (int i = 0; i < 20; ++i) {
    results.push_back({RandomDigest(random), {}});
    if (i % 2 == 0) results.back().status = {Code::kInvalidArgument, "no"};
  }
  re::BatchUpdateBlobsResponse theirs;
  const Bytes text = FormatBatchUpdateResponse(results);
  ASSERT_TRUE(theirs.ParseFromString(std::string(text.view())));
  ASSERT_EQ(theirs.responses_size(), 20);
  for (int i = 0; i < 20; ++i) {
    const auto& response = theirs.responses(i);
    EXPECT_TRUE(
        Same(response.digest(), results[static_cast<size_t>(i)].digest));
    EXPECT_TRUE(response.has_status());
    EXPECT_EQ(response.status().code(), i % 2 == 0 ? 3 : 0);
    EXPECT_EQ(response.status().message(), i % 2 == 0 ? "no" : "");
  }
  EXPECT_EQ(theirs.SerializeAsString(), text.view());
}

re::BatchReadBlobsRequest RandomRead(std::mt19937& random) {
  re::BatchReadBlobsRequest message;
  for (size_t i = Below(random, 5); i > 0; --i) {
    Set(*message.add_digests(), RandomDigest(random));
  }
  for (size_t i = Below(random, 3); i > 0; --i) {
    message.add_acceptable_compressors(
        static_cast<re::Compressor::Value>(random() % 3 == 0 ? 1 : 99));
  }
  return message;
}

bool AcceptsZstd(const re::BatchReadBlobsRequest& message) {
  return std::ranges::count(message.acceptable_compressors(),
                            re::Compressor::ZSTD) > 0;
}

TEST(BatchMessages, ReadIsReadAsTheGeneratedOneDoes) {
  std::mt19937 random(8);
  for (int i = 0; i < 300; ++i) {
    const std::string text = RandomRead(random).SerializeAsString() +
                             UnknownFields() +
                             RandomRead(random).SerializeAsString();
    re::BatchReadBlobsRequest theirs;
    ASSERT_TRUE(theirs.ParseFromString(text));
    const auto ours = ParseBatchReadRequest(CutAtRandom(text, random));
    ASSERT_TRUE(ours);
    ASSERT_EQ(ours->digests.size(), static_cast<size_t>(theirs.digests_size()));
    EXPECT_TRUE(std::ranges::equal(theirs.digests(), ours->digests, Same));
    EXPECT_EQ(ours->accepts_zstd, AcceptsZstd(theirs));
  }
}

TEST(BatchMessages, R129_CompressorsMayBePackedOrNot) {
  using namespace std::string_literals;
  EXPECT_TRUE(
      ParseBatchReadRequest(CutAt("\x1A\x03\x63\x01\x00"s, 3))->accepts_zstd);
  EXPECT_TRUE(ParseBatchReadRequest(CutAt("\x18\x63\x18\x01\x18\x00"s, 3))
                  ->accepts_zstd);
  EXPECT_FALSE(ParseBatchReadRequest(CutAt("\x1A\x01\x63"s, 2))->accepts_zstd);
  EXPECT_FALSE(ParseBatchReadRequest(CutAt("\x1A\x02\x63\xFF"s, 2)));
}

TEST(BatchMessages, ReadIsAnsweredInPiecesThatNobodyJoined) {
  std::mt19937 random(9);
  BatchReadResponse ours;
  re::BatchReadBlobsResponse theirs;
  std::vector<Bytes> blobs;
  size_t size = 0;
  for (int i = 0; i < 100; ++i) {
    const Digest digest = RandomDigest(random);
    auto& item = *theirs.add_responses();
    Set(*item.mutable_digest(), digest);
    item.mutable_status();
    if (random() % 4 == 0) {
      item.mutable_status()->set_code(5);
      item.mutable_status()->set_message("absent");
      const ItemStatus absent = {Code::kNotFound, "absent"};
      size += BatchReadResponse::ItemSize(digest, absent);
      ours.AddFailure(digest, absent);
    } else {
      const auto encoding =
          random() % 2 == 0 ? Encoding::kIdentity : Encoding::kZstd;
      item.set_data(RandomBytes(random, 300));
      item.set_compressor(encoding == Encoding::kZstd
                              ? re::Compressor::ZSTD
                              : re::Compressor::IDENTITY);
      size += BatchReadResponse::ItemSize(digest, item.data().size(), encoding);
      blobs.push_back(Bytes::FromString(item.data()));
      ours.Add(digest, blobs.back(), encoding);
    }
    EXPECT_EQ(ours.size(), size);
  }
  const auto pieces = ours.Take();
  const std::string text = testing::Join(pieces);
  EXPECT_EQ(text.size(), size);
  re::BatchReadBlobsResponse parsed;
  ASSERT_TRUE(parsed.ParseFromString(text));
  EXPECT_EQ(parsed.SerializeAsString(), theirs.SerializeAsString());
  for (const Bytes& blob : blobs) {
    if (blob.empty()) continue;
    EXPECT_EQ(1, std::ranges::count_if(pieces, [&](const Bytes& piece) {
                return piece.data() == blob.data();
              }));
  }
}

TEST(BatchMessages, StatusIsThatOfTheGeneratedMessage) {
  google::rpc::Status theirs;
  theirs.set_code(9);
  theirs.set_message("gone");
  theirs.add_details()->set_type_url("type.googleapis.com/x");
  const std::vector<std::string> details = {
      theirs.details(0).SerializeAsString()};
  EXPECT_EQ(FormatStatus(Code::kFailedPrecondition, "gone", details),
            theirs.SerializeAsString());
}

}  // namespace
}  // namespace casemate::reapi
