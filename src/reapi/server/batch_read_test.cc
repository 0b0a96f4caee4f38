#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reapi/server/cas_for_test.h"
#include "testing/counting_store.h"
#include "testing/failing_store.h"

namespace casemate::reapi {
namespace {

using testing::DigestOf;
using testing::MustPut;
using testing::RandomText;

proto::BatchReadBlobsRequest RequestOf(const std::vector<Digest>& digests,
                                       const std::vector<int>& accept = {}) {
  proto::BatchReadBlobsRequest request;
  for (const Digest& digest : digests) {
    *request.add_digests() = ToProto(digest);
  }
  for (const int each : accept) {
    request.add_acceptable_compressors(
        static_cast<proto::Compressor::Value>(each));
  }
  return request;
}

std::string Decoded(const proto::BatchReadBlobsResponse::Response& item) {
  if (item.compressor() == proto::Compressor::IDENTITY) return item.data();
  std::string text(static_cast<size_t>(item.digest().size_bytes()) + 1, '\0');
  const size_t size = ZSTD_decompress(text.data(), text.size(),
                                      item.data().data(), item.data().size());
  EXPECT_FALSE(ZSTD_isError(size)) << ZSTD_getErrorName(size);
  text.resize(ZSTD_isError(size) ? 0 : size);
  return text;
}

class BatchRead : public OverStores {
 protected:
  Answered<proto::BatchReadBlobsResponse> Ask(
      const proto::BatchReadBlobsRequest& request) {
    return scene_.Call<proto::BatchReadBlobsResponse>("BatchReadBlobs",
                                                      request);
  }

  // The items, one for each digest in their order.
  std::vector<proto::BatchReadBlobsResponse::Response> Read(
      const std::vector<Digest>& digests, const std::vector<int>& accept = {}) {
    const auto answered = Ask(RequestOf(digests, accept));
    EXPECT_TRUE(answered.status.ok()) << answered.status.message;
    EXPECT_LE(answered.bytes.size(), kPeerMessageLimit);
    std::vector<proto::BatchReadBlobsResponse::Response> items(
        answered.response.responses().begin(),
        answered.response.responses().end());
    EXPECT_EQ(items.size(), digests.size());
    for (size_t i = 0; i < items.size(); ++i) {
      EXPECT_TRUE(items[i].has_status());
      EXPECT_EQ(FromProto(items[i].digest()), digests[i]);
    }
    return items;
  }

  Code CodeOf(const Digest& digest) {
    return static_cast<Code>(Read({digest}).at(0).status().code());
  }
};
CASEMATE_OVER_STORES(BatchRead);

TEST_P(BatchRead, R131_D20_AnswersInOrderEachTime) {
  const Digest a = MustPut(*store_, "a"), b = MustPut(*store_, "bb");
  for (int round = 0; round < 2; ++round) {  // The second is answered in place.
    const auto items = Read({b, a, b, a, a});
    const std::string expected[] = {"bb", "a", "bb", "a", "a"};
    for (size_t i = 0; i < items.size(); ++i) {
      EXPECT_EQ(items[i].data(), expected[i]);
      EXPECT_EQ(items[i].status().code(), 0);
    }
  }
}

TEST_P(BatchRead, R127_FailuresAreReportedPerItem) {
  const Digest a = MustPut(*store_, "a");
  const auto items = Read({DigestOf("absent"), a, DigestOf("absent")});
  EXPECT_EQ(items[0].status().code(), static_cast<int>(Code::kNotFound));
  EXPECT_EQ(items[1].data(), "a");
  EXPECT_EQ(items[2].status().code(), static_cast<int>(Code::kNotFound));
}

TEST_P(BatchRead, R003_AWrongSizeIsNotFound) {
  const Digest digest = MustPut(*store_, "0123456789");
  EXPECT_EQ(CodeOf({digest.function(), digest.hash(), 11}), Code::kNotFound);
  EXPECT_EQ(CodeOf({digest.function(), digest.hash(), 9}), Code::kNotFound);
}

TEST_P(BatchRead, R014_TheEmptyBlobHasNoData) {
  for (const DigestFunction function : kDigestFunctions) {
    const auto items = Read({DigestOf("", function)});
    EXPECT_EQ(items[0].status().code(), 0);
    EXPECT_EQ(items[0].data(), "");
  }
  const auto items = Read({DigestOf("")}, {proto::Compressor::ZSTD});
  EXPECT_EQ(Decoded(items[0]), "");
}

TEST_P(BatchRead, R018_SizeZeroWithAnotherHashIsNotFound) {
  EXPECT_EQ(CodeOf(Digest::FromHex(std::string(64, '0'), 0).value()),
            Code::kNotFound);
}

TEST_P(BatchRead, R126_ATotalAboveTheLimitFailsTheWholeCall) {
  const Digest a = MustPut(*store_, "a");
  const auto large =
      Digest::FromHex(std::string(64, 'a'), kMaxBatchTotalBytes).value();
  EXPECT_EQ(Ask(RequestOf({large, a})).status.code, Code::kInvalidArgument);
  const auto huge = Digest::FromHex(std::string(64, 'a'), INT64_MAX).value();
  EXPECT_EQ(Ask(RequestOf({huge, huge, huge})).status.code,
            Code::kInvalidArgument);
  EXPECT_TRUE(Ask(RequestOf({large})).status.ok());
}

TEST_P(BatchRead, R128_R129_IdentityIsAlwaysAcceptable) {
  const Digest a = MustPut(*store_, "a");
  for (const std::vector<int>& accept :
       std::vector<std::vector<int>>{{}, {99}, {3}, {2, 99}, {1}, {0}}) {
    const auto items = Read({a}, accept);
    EXPECT_EQ(items[0].compressor(), proto::Compressor::IDENTITY);
    EXPECT_EQ(items[0].data(), "a");
  }
}

TEST_P(BatchRead, R128_CompressesForThoseWhoAcceptIt) {
  const std::string text(50'000, 'z');
  const Digest digest = MustPut(*store_, text);
  const auto plain = Read({digest}, {3, 2});
  EXPECT_EQ(plain[0].compressor(), proto::Compressor::IDENTITY);
  for (int round = 0; round < 2; ++round) {
    const auto items = Read({digest}, {3, 1, 99});
    EXPECT_EQ(items[0].compressor(), proto::Compressor::ZSTD);
    EXPECT_LT(items[0].data().size(), 1000u);
    EXPECT_EQ(Decoded(items[0]), text);
  }
}

TEST_P(BatchRead, R130_DoesNotCompressWhatThatDoesNotHelp) {
  const std::string random = RandomText(50'000), small(100, 'z');
  MustPut(*store_, random);
  MustPut(*store_, small);
  const auto items =
      Read({DigestOf(random), DigestOf(small)}, {proto::Compressor::ZSTD});
  for (const auto& item : items) {
    EXPECT_EQ(item.compressor(), proto::Compressor::IDENTITY);
  }
  EXPECT_EQ(items[0].data(), random);
}

TEST_P(BatchRead, R132_IncompressibleDataAtTheLimitFits) {
  const std::string random = RandomText(kMaxBatchTotalBytes);
  const Digest digest = MustPut(*store_, random);
  const auto items = Read({digest}, {proto::Compressor::ZSTD});
  EXPECT_EQ(Decoded(items[0]), random);
}

TEST_P(BatchRead, R050_D19_ItemsThatDoNotFitAreToldSo) {
  const std::string text = RandomText(1000);
  const auto items = Read(std::vector(4'000, MustPut(*store_, text)));
  size_t good = 0, full = 0;
  for (const auto& item : items) {
    const auto code = static_cast<Code>(item.status().code());
    EXPECT_EQ(item.data(), code == Code::kOk ? text : "");
    good += code == Code::kOk;
    full += code == Code::kResourceExhausted;
  }
  EXPECT_EQ(good + full, items.size());
  EXPECT_GT(full, 0u);
  EXPECT_GT(good, 3'700u);
}

TEST_P(BatchRead, RefusesSixtyFiveThousandItemsWithAReason) {
  const Digest a = MustPut(*store_, "a");
  const auto answered = Ask(RequestOf(std::vector(65'536, a)));
  EXPECT_EQ(answered.status.code, Code::kInvalidArgument);
  EXPECT_NE(answered.status.message.find("65536"), std::string::npos);
}

TEST_P(BatchRead, TakesAsManyItemsAsAnAnswerHasRoomFor) {
  const Digest a = MustPut(*store_, "a");
  const auto items = Read(std::vector(50'000, a));
  for (const auto& item : items) {
    EXPECT_TRUE(item.data() == "a" ||
                item.status().code() ==
                    static_cast<int>(Code::kResourceExhausted));
  }
}

TEST_P(BatchRead, NoDigestsAreFine) { EXPECT_TRUE(Read({}).empty()); }

TEST_P(BatchRead, R001_R004_R005_RefusesMalformedDigests) {
  proto::BatchReadBlobsRequest request;
  request.add_digests();
  EXPECT_EQ(Ask(request).status.code, Code::kInvalidArgument);
  *request.mutable_digests(0) = ToProto(DigestOf("x"));
  request.mutable_digests(0)->set_size_bytes(-1);
  EXPECT_EQ(Ask(request).status.code, Code::kInvalidArgument);
  request.mutable_digests(0)->set_size_bytes(1);
  request.mutable_digests(0)->mutable_hash()->at(0) = 'A';
  EXPECT_EQ(Ask(request).status.code, Code::kInvalidArgument);
}

TEST_P(BatchRead, R024_R025_ChecksTheFunction) {
  auto request = RequestOf({DigestOf("x")});
  request.set_digest_function(proto::DigestFunction::SHA1);
  EXPECT_EQ(Ask(request).status.code, Code::kInvalidArgument);
  request.set_digest_function(proto::DigestFunction::MURMUR3);
  EXPECT_EQ(Ask(request).status.code, Code::kInvalidArgument);
  EXPECT_EQ(
      Ask(RequestOf({DigestOf("x"), DigestOf("x", DigestFunction::kSha1)}))
          .status.code,
      Code::kInvalidArgument);
}

TEST_P(BatchRead, R028_AnotherFunctionsBlobIsAnother) {
  MustPut(*store_, "x");
  EXPECT_EQ(CodeOf(DigestOf("x", DigestFunction::kSha1)), Code::kNotFound);
}

TEST_P(BatchRead, R031_RefusesMalformedInstances) {
  auto request = RequestOf({DigestOf("x")});
  request.set_instance_name("a/blobs");
  EXPECT_EQ(Ask(request).status.code, Code::kInvalidArgument);
}

TEST_P(BatchRead, RefusesGarbage) {
  EXPECT_EQ(scene_.Call("BatchReadBlobs", RandomText(10'000)).status.code,
            Code::kInvalidArgument);
}

TEST_P(BatchRead, BlobsGoByReferenceAndMemoryComesBackWithTheAnswer) {
  const Digest digest = MustPut(*store_, RandomText(200'000));
  {
    testing::MemoryCall call(scene_.ServiceOf("BatchReadBlobs"),
                             scene_.PathOf("BatchReadBlobs"), scene_.pool);
    call.Send(RequestOf({digest, digest}).SerializeAsString());
    call.HalfClose();
    ASSERT_TRUE(call.Receive());
    EXPECT_TRUE(call.Wait().ok());
    const auto& pieces = call.answers().at(0).pieces();
    ASSERT_EQ(pieces.size(), 4u);  // A head and a blob, twice.
    EXPECT_EQ(pieces[1].size(), 200'000u);
    EXPECT_GE(scene_.admission.used(), 400'000);
  }
  EXPECT_EQ(scene_.admission.used(), 0);
}

TEST_P(BatchRead, R235_ACancelledCallGivesAllBack) {
  const Digest digest = MustPut(*store_, RandomText(200'000));
  for (int i = 0; i < 20; ++i) {
    testing::MemoryCall call(scene_.ServiceOf("BatchReadBlobs"),
                             scene_.PathOf("BatchReadBlobs"), scene_.pool);
    call.Send(RequestOf({digest}).SerializeAsString());
    call.HalfClose();
    call.Cancel();
  }
  EXPECT_EQ(scene_.admission.used(), 0);
}

TEST(BatchReadBlobs, IsOneGetManyWhereCallsMayWait) {
  const auto memory = MakeMemoryStore();
  testing::CountingStore store(*memory);
  Scene scene(store);
  std::vector<Digest> digests;
  for (int i = 0; i < 500; ++i) {
    digests.push_back(MustPut(*memory, std::to_string(i)));
  }
  const auto answered = scene.Call<proto::BatchReadBlobsResponse>(
      "BatchReadBlobs", RequestOf(digests));
  EXPECT_EQ(answered.response.responses(499).data(), "499");
  EXPECT_EQ(store.get_many, 1);
  EXPECT_EQ(store.got, 500);
}

// Tells which way a store's blobs are read.
class WatchedStore : public testing::CountingStore {
 public:
  explicit WatchedStore(BlobStore& inner)
      : CountingStore(inner), inner_(inner) {}
  std::optional<Result<std::unique_ptr<Reader>>> TryGet(
      const Digest& digest, int64_t offset, Accept accept) override {
    return inner_.TryGet(digest, offset, accept);
  }

 private:
  BlobStore& inner_;
};

TEST(BatchReadBlobs, WhatTheCachesHoldIsAnsweredInPlace) {
  testing::TempDir dir;
  const auto disk = DiskStore::Open(dir / "store").value();
  WatchedStore store(*disk);
  Scene scene(store);
  const std::vector digests = {MustPut(*disk, "a"), MustPut(*disk, "b")};
  // A file that has just been written is not trusted at once.
  for (int64_t before = -1; before < store.get_many;) {
    before = store.get_many;
    ASSERT_LT(before, 100'000);
    const auto answered = scene.Call<proto::BatchReadBlobsResponse>(
        "BatchReadBlobs", RequestOf(digests));
    EXPECT_EQ(answered.response.responses(1).data(), "b");
  }
  EXPECT_EQ(scene.admission.used(), 0);
}

TEST(BatchReadBlobs, AnOutageIsSaidPerItem) {
  testing::FailingStore store(Code::kUnavailable);
  Scene scene(store);
  for (const std::vector<int>& accept :
       std::vector<std::vector<int>>{{}, {1}}) {
    const auto answered = scene.Call<proto::BatchReadBlobsResponse>(
        "BatchReadBlobs", RequestOf({DigestOf("x")}, accept));
    EXPECT_EQ(answered.response.responses(0).status().code(),
              static_cast<int>(Code::kUnavailable));
  }
}

TEST(BatchReadBlobs, R045_AFileCutBehindItsBackIsAnErrorNeverWrongBytes) {
  testing::TempDir dir;
  const auto store = DiskStore::Open(dir / "store").value();
  Scene scene(*store);
  const std::string text = RandomText(10'000);
  const Digest digest = MustPut(*store, text);
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(dir / "store" + "/cas")) {
    if (!entry.is_regular_file()) continue;
    std::filesystem::permissions(entry.path(),
                                 std::filesystem::perms::owner_all);
    std::filesystem::resize_file(entry.path(), 5'000);
  }
  const auto answered = scene.Call<proto::BatchReadBlobsResponse>(
      "BatchReadBlobs", RequestOf({digest}));
  EXPECT_NE(answered.response.responses(0).status().code(), 0);
  EXPECT_EQ(answered.response.responses(0).data(), "");
}

}  // namespace
}  // namespace casemate::reapi
