#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reapi/server/cas_for_test.h"
#include "testing/counting_store.h"
#include "testing/failing_store.h"

namespace casemate::reapi {
namespace {

using testing::DigestOf;
using testing::Has;
using testing::MustPut;
using testing::MustRead;
using testing::RandomText;
using testing::Zstd;

void AddItem(
    proto::BatchUpdateBlobsRequest& request, const Digest& digest,
    const std::string& data,
    proto::Compressor::Value compressor = proto::Compressor::IDENTITY) {
  auto& item = *request.add_requests();
  *item.mutable_digest() = ToProto(digest);
  item.set_data(data);
  item.set_compressor(compressor);
}

proto::BatchUpdateBlobsRequest RequestOf(const std::vector<std::string>& all) {
  proto::BatchUpdateBlobsRequest request;
  for (const std::string& text : all) AddItem(request, DigestOf(text), text);
  return request;
}

class BatchUpdate : public OverStores {
 protected:
  Answered<proto::BatchUpdateBlobsResponse> Ask(
      const proto::BatchUpdateBlobsRequest& request) {
    return scene_.Call<proto::BatchUpdateBlobsResponse>("BatchUpdateBlobs",
                                                        request);
  }

  // The codes of the items, in order; each response has its item's digest.
  std::vector<Code> Codes(const proto::BatchUpdateBlobsRequest& request) {
    const auto answered = Ask(request);
    EXPECT_TRUE(answered.status.ok()) << answered.status.message;
    EXPECT_EQ(answered.response.responses_size(), request.requests_size());
    std::vector<Code> codes;
    for (int i = 0; i < answered.response.responses_size(); ++i) {
      const auto& each = answered.response.responses(i);
      EXPECT_TRUE(each.has_status());
      EXPECT_EQ(each.digest().SerializeAsString(),
                request.requests(i).digest().SerializeAsString());
      codes.push_back(static_cast<Code>(each.status().code()));
    }
    return codes;
  }

  Code CodeOfOne(const Digest& digest, const std::string& data,
                 int compressor = 0) {
    proto::BatchUpdateBlobsRequest request;
    AddItem(request, digest, data,
            static_cast<proto::Compressor::Value>(compressor));
    return Codes(request).at(0);
  }
};
CASEMATE_OVER_STORES(BatchUpdate);

TEST_P(BatchUpdate, StoresEachItem) {
  EXPECT_EQ(Codes(RequestOf({"a", "bb", RandomText(100'000)})),
            std::vector(3, Code::kOk));
  for (const std::string& text : {std::string("a"), RandomText(100'000)}) {
    EXPECT_EQ(MustRead(*store_, DigestOf(text)), text);
  }
}

TEST_P(BatchUpdate, R114_ItemsSucceedOrFailOnTheirOwn) {
  auto request = RequestOf({"good", "bad", "good too"});
  request.mutable_requests(1)->set_data("dab");
  EXPECT_EQ(Codes(request),
            (std::vector{Code::kOk, Code::kInvalidArgument, Code::kOk}));
  EXPECT_TRUE(Has(*store_, DigestOf("good")));
  EXPECT_TRUE(Has(*store_, DigestOf("good too")));
}

TEST_P(BatchUpdate, R006_R117_NothingIsVisibleWhoseDigestDisagrees) {
  EXPECT_EQ(CodeOfOne(DigestOf("hello"), "hellp"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOfOne(DigestOf("hello"), "hello "), Code::kInvalidArgument);
  EXPECT_EQ(CodeOfOne(DigestOf("hello"), "hell"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOfOne(DigestOf("hello"), ""), Code::kInvalidArgument);
  EXPECT_FALSE(Has(*store_, DigestOf("hello")));
}

TEST_P(BatchUpdate, R002_AWrongSizeIsAMismatch) {
  const Digest digest = DigestOf("hello");
  EXPECT_EQ(CodeOfOne({digest.function(), digest.hash(), 6}, "hello"),
            Code::kInvalidArgument);
}

TEST_P(BatchUpdate, R115_ATotalAboveTheLimitFailsTheWholeCall) {
  const auto answered =
      Ask(RequestOf({std::string(kMaxBatchTotalBytes - 1, 'a'), "bb"}));
  EXPECT_EQ(answered.status.code, Code::kInvalidArgument);
  EXPECT_FALSE(Has(*store_, DigestOf("bb")));
}

TEST_P(BatchUpdate, R115_FourMebibytesAndOneAreRefused) {
  const auto answered = Ask(RequestOf({std::string((4 << 20) + 1, 'a')}));
  EXPECT_EQ(answered.status.code, Code::kInvalidArgument);
}

TEST_P(BatchUpdate, R115_SizesThatOverflowAreAboveTheLimit) {
  proto::BatchUpdateBlobsRequest request = RequestOf({"a", "b", "c"});
  for (auto& item : *request.mutable_requests()) {
    item.mutable_digest()->set_size_bytes(int64_t{1} << 62);
  }
  EXPECT_EQ(Ask(request).status.code, Code::kInvalidArgument);
}

TEST_P(BatchUpdate, R116_D19_ABatchOfExactlyTheLimitIsTaken) {
  EXPECT_EQ(Codes(RequestOf({std::string(kMaxBatchTotalBytes, 'a')})),
            std::vector{Code::kOk});
  std::vector<std::string> small;
  for (int i = 0; i < 256; ++i) {
    small.push_back(std::string(1, static_cast<char>(i)));
  }
  small.push_back(std::string(kMaxBatchTotalBytes - 256, 'b'));
  EXPECT_EQ(Codes(RequestOf(small)), std::vector(257, Code::kOk));
}

TEST(BatchUpdateBlobs, R087_R118_AnItemWithoutRoomIsResourceExhausted) {
  const auto store = MakeMemoryStore(1000);
  Scene scene(*store);
  const auto answered = scene.Call<proto::BatchUpdateBlobsResponse>(
      "BatchUpdateBlobs",
      RequestOf({std::string(900, 'a'), "small", std::string(200, 'b')}));
  EXPECT_EQ(answered.response.responses(0).status().code(), 0);
  EXPECT_EQ(answered.response.responses(1).status().code(), 0);
  EXPECT_EQ(answered.response.responses(2).status().code(),
            static_cast<int>(Code::kResourceExhausted));
}

TEST_P(BatchUpdate, R119_CompressorsThatAreNotOfferedAreRefusedPerItem) {
  for (const int compressor :
       {int{proto::Compressor::BROTLI}, int{proto::Compressor::DEFLATE}, 77}) {
    EXPECT_EQ(CodeOfOne(DigestOf("hello"), "hello", compressor),
              Code::kInvalidArgument);
  }
  EXPECT_FALSE(Has(*store_, DigestOf("hello")));
}

TEST_P(BatchUpdate, R120_D04_AnItemThatIsStoredIsOk) {
  MustPut(*store_, "hello");
  EXPECT_EQ(CodeOfOne(DigestOf("hello"), "hello"), Code::kOk);
  EXPECT_EQ(CodeOfOne(DigestOf("hello"), Zstd("hello"), 1), Code::kOk);
}

TEST_P(BatchUpdate, R121_AnItemAboveTheLargestBlobIsRefused) {
  scene_.Use({.max_cas_blob_size = 10});
  EXPECT_EQ(Codes(RequestOf({"0123456789", "01234567890"})),
            (std::vector{Code::kOk, Code::kInvalidArgument}));
}

TEST_P(BatchUpdate, R012_R122_D20_OneResponseForEachItemAlsoForRepeats) {
  EXPECT_EQ(Codes(RequestOf({"a", "b", "a", "a"})), std::vector(4, Code::kOk));
}

TEST_P(BatchUpdate, R125_NoItemsAreFine) { EXPECT_TRUE(Codes({}).empty()); }

TEST_P(BatchUpdate, R015_D14_TheEmptyBlobIsAccepted) {
  EXPECT_EQ(CodeOfOne(DigestOf(""), ""), Code::kOk);
  EXPECT_EQ(CodeOfOne(DigestOf(""), Zstd(""), 1), Code::kOk);
  EXPECT_EQ(CodeOfOne(DigestOf(""), "x"), Code::kInvalidArgument);
}

TEST_P(BatchUpdate, R018_SizeZeroWithAnotherHashIsRefused) {
  const auto zeros = Digest::FromHex(std::string(64, '0'), 0).value();
  EXPECT_EQ(CodeOfOne(zeros, ""), Code::kInvalidArgument);
}

TEST_P(BatchUpdate, R005_AnItemWithoutDigestFailsTheCall) {
  proto::BatchUpdateBlobsRequest request = RequestOf({"a"});
  request.add_requests()->set_data("b");
  EXPECT_EQ(Ask(request).status.code, Code::kInvalidArgument);
}

TEST_P(BatchUpdate, R022_R025_TheFunctionIsNumberFive) {
  proto::BatchUpdateBlobsRequest request = RequestOf({"a"});
  request.set_digest_function(proto::DigestFunction::SHA256);
  EXPECT_EQ(Codes(request), std::vector{Code::kOk});
  request.set_digest_function(proto::DigestFunction::SHA1);
  EXPECT_EQ(Ask(request).status.code, Code::kInvalidArgument);
  request.set_digest_function(proto::DigestFunction::BLAKE3);
  EXPECT_EQ(Ask(request).status.code, Code::kInvalidArgument);
}

TEST_P(BatchUpdate, TakesZstd) {
  const std::string text(100'000, 'z');
  EXPECT_EQ(CodeOfOne(DigestOf(text), Zstd(text), 1), Code::kOk);
  EXPECT_EQ(MustRead(*store_, DigestOf(text)), text);
}

TEST_P(BatchUpdate, D05_TakesAnyNumberOfZstdFrames) {
  const std::string text = "one two three";
  const std::string skippable("\x50\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);
  EXPECT_EQ(
      CodeOfOne(DigestOf(text),
                Zstd("one ") + Zstd("") + skippable + Zstd("two three"), 1),
      Code::kOk);
  EXPECT_EQ(MustRead(*store_, DigestOf(text)), text);
}

TEST_P(BatchUpdate, R092_R098_RefusesZstdThatIsCutDamagedOrOfOtherBytes) {
  const std::string text = RandomText(5000);
  const std::string good = Zstd(text);
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 1);
  for (const std::string& bad :
       {good.substr(0, good.size() - 1), good + "xx", flipped, Zstd("other"),
        Zstd(text.substr(1)), Zstd(text + "x"), text, std::string()}) {
    EXPECT_EQ(CodeOfOne(DigestOf(text), bad, 1), Code::kInvalidArgument);
  }
  EXPECT_FALSE(Has(*store_, DigestOf(text)));
}

TEST_P(BatchUpdate, R097_AZstdBombStopsAtTheDeclaredSize) {
  std::string bomb = Zstd(std::string(64 << 20, '\0'));
  ASSERT_LT(bomb.size(), 100'000u);
  EXPECT_EQ(CodeOfOne(DigestOf("0123456789"), bomb, 1), Code::kInvalidArgument);
  EXPECT_LT(scene_.admission.peak(), 1 << 20);
}

TEST_P(BatchUpdate, D32_AnItemTellsUploadsThatWaitForItsBlob) {
  const auto wait = scene_.arrivals.Expect(*store_, DigestOf("hello"), [] {});
  EXPECT_EQ(CodeOfOne(DigestOf("hello"), "hellp"), Code::kInvalidArgument);
  EXPECT_FALSE(wait->arrived());
  EXPECT_EQ(CodeOfOne(DigestOf("hello"), "hello"), Code::kOk);
  EXPECT_TRUE(wait->arrived());
}

TEST_P(BatchUpdate, TakesSixtyFiveThousandItems) {
  proto::BatchUpdateBlobsRequest request;
  for (int i = 0; i < 65'536; ++i) {
    AddItem(request, DigestOf("wrong"), std::to_string(i));
  }
  const auto answered = Ask(request);
  ASSERT_TRUE(answered.status.ok()) << answered.status.message;
  EXPECT_EQ(answered.response.responses_size(), 65'536);
  EXPECT_LE(answered.bytes.size(), request.ByteSizeLong());
}

TEST_P(BatchUpdate, D20_AnswersStayBelowFourMebibytes) {
  proto::BatchUpdateBlobsRequest request;
  for (int i = 0; i < 45'000; ++i) AddItem(request, DigestOf("wrong"), "x");
  ASSERT_LT(request.ByteSizeLong(), kPeerMessageLimit);
  const auto answered = Ask(request);
  EXPECT_EQ(answered.response.responses_size(), 45'000);
  EXPECT_LE(answered.bytes.size(), kPeerMessageLimit);
}

TEST_P(BatchUpdate, RefusesGarbage) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    EXPECT_EQ(
        scene_.Call("BatchUpdateBlobs", RandomText(10'000, seed)).status.code,
        Code::kInvalidArgument);
  }
}

TEST_P(BatchUpdate, R232_PassesOverUnknownFields) {
  const auto result =
      scene_.Call("BatchUpdateBlobs",
                  "\xc2\x3e\x03xyz" + RequestOf({"a"}).SerializeAsString());
  EXPECT_TRUE(result.status.ok());
  EXPECT_TRUE(Has(*store_, DigestOf("a")));
}

TEST_P(BatchUpdate, TakesAMessageCutAnywhere) {
  const std::string bytes = RequestOf({"first", "second"}).SerializeAsString();
  for (size_t cut = 0; cut <= bytes.size(); cut += 7) {
    testing::MemoryCall call(scene_.ServiceOf("BatchUpdateBlobs"),
                             scene_.PathOf("BatchUpdateBlobs"), scene_.pool);
    call.SendPieces({bytes.substr(0, cut), bytes.substr(cut)});
    call.HalfClose();
    EXPECT_TRUE(call.Wait().ok());
  }
  EXPECT_EQ(MustRead(*store_, DigestOf("second")), "second");
}

TEST_P(BatchUpdate, R235_GivesAllMemoryBack) {
  (void)Ask(RequestOf({RandomText(100'000), "x"}));
  testing::MemoryCall call(scene_.ServiceOf("BatchUpdateBlobs"),
                           scene_.PathOf("BatchUpdateBlobs"), scene_.pool);
  call.Send(RequestOf({"y"}).SerializeAsString());
  call.Cancel();
  EXPECT_EQ(call.Wait().code, Code::kCancelled);
  EXPECT_FALSE(Has(*store_, DigestOf("y")));
  EXPECT_EQ(scene_.admission.used(), 0);
}

// Keeps the blobs that it is given, as they were given.
class KeepingStore : public testing::CountingStore {
 public:
  using CountingStore::CountingStore;
  bool NeverWaits() const override { return true; }
  std::vector<Result<void>> PutMany(const Context& ctx,
                                    std::span<const Blob> all) override {
    blobs.assign(all.begin(), all.end());
    return CountingStore::PutMany(ctx, all);
  }
  std::vector<Blob> blobs;
};

TEST(BatchUpdateBlobs, ASmallBlobDoesNotKeepALargeMessageInMemory) {
  const auto memory = MakeMemoryStore();
  KeepingStore store(*memory);
  Scene scene(store);
  const std::string large(3'000'000, 'x');
  (void)scene.Call<proto::BatchUpdateBlobsResponse>("BatchUpdateBlobs",
                                                    RequestOf({"s", large}));
  ASSERT_EQ(store.blobs.size(), 2u);
  // Right behind the small one stands the large one, if both share the message.
  const auto distance =
      store.blobs[1].bytes().data() - store.blobs[0].bytes().data();
  EXPECT_TRUE(distance < 0 || distance > 200);
}

TEST(BatchUpdateBlobs, IsOnePutMany) {
  const auto memory = MakeMemoryStore();
  testing::CountingStore store(*memory);
  Scene scene(store);
  (void)scene.Call<proto::BatchUpdateBlobsResponse>("BatchUpdateBlobs",
                                                    RequestOf({"a", "b"}));
  EXPECT_EQ(store.put_many, 1);
  EXPECT_EQ(store.given, 2);
}

TEST(BatchUpdateBlobs, AnOutageIsSaidPerItem) {
  testing::FailingStore store(Code::kUnavailable);
  Scene scene(store);
  const auto answered = scene.Call<proto::BatchUpdateBlobsResponse>(
      "BatchUpdateBlobs", RequestOf({"a", ""}));
  EXPECT_EQ(answered.response.responses(0).status().code(),
            static_cast<int>(Code::kUnavailable));
  EXPECT_EQ(answered.response.responses(1).status().code(), 0);
}

}  // namespace
}  // namespace casemate::reapi
