#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "digest/hasher.h"
#include "reapi/server/cas_for_test.h"
#include "testing/counting_store.h"
#include "testing/failing_store.h"

namespace casemate::reapi {
namespace {

using testing::DigestOf;
using ::testing::IsEmpty;
using testing::MustPut;
using ::testing::UnorderedElementsAre;

class FindMissing : public OverStores {
 protected:
  Answered<proto::FindMissingBlobsResponse> Ask(
      const proto::FindMissingBlobsRequest& request) {
    return scene_.Call<proto::FindMissingBlobsResponse>("FindMissingBlobs",
                                                        request);
  }

  // The missing ones among `digests`.
  std::vector<Digest> Missing(const std::vector<Digest>& digests) {
    proto::FindMissingBlobsRequest request;
    for (const Digest& digest : digests) {
      *request.add_blob_digests() = ToProto(digest);
    }
    const auto answered = Ask(request);
    EXPECT_TRUE(answered.status.ok()) << answered.status.message;
    std::vector<Digest> missing;
    for (const auto& each : answered.response.missing_blob_digests()) {
      missing.push_back(FromProto(each));
    }
    return missing;
  }

  Code CodeFor(const std::string& hash, int64_t size = 1,
               const std::string& instance = "", int function = 0) {
    proto::FindMissingBlobsRequest request;
    request.set_instance_name(instance);
    auto& digest = *request.add_blob_digests();
    digest.set_hash(hash);
    digest.set_size_bytes(size);
    request.set_digest_function(
        static_cast<proto::DigestFunction::Value>(function));
    return Ask(request).status.code;
  }
};
CASEMATE_OVER_STORES(FindMissing);

TEST_P(FindMissing, R108_ListsExactlyWhatIsNotStored) {
  const Digest there = MustPut(*store_, "there");
  EXPECT_THAT(Missing({there, DigestOf("a"), DigestOf(""), DigestOf("b")}),
              UnorderedElementsAre(DigestOf("a"), DigestOf("b")));
}

TEST_P(FindMissing, R110_AnEmptyListIsFine) {
  EXPECT_THAT(Missing({}), IsEmpty());
  EXPECT_EQ(scene_.Call("FindMissingBlobs", std::string()).answer, "");
}

TEST_P(FindMissing, R111_AnUploadUnderWayIsMissing) {
  const auto writer =
      store_->StartWrite({}, DigestOf("hello"), "id", Encoding::kIdentity)
          .value();
  ASSERT_TRUE(writer->Write({}, AsBytes("hello")));
  EXPECT_THAT(Missing({DigestOf("hello")}),
              UnorderedElementsAre(DigestOf("hello")));
}

TEST_P(FindMissing, R012_TheSameDigestTwiceIsLegal) {
  const Digest there = MustPut(*store_, "there");
  const auto missing =
      Missing({DigestOf("a"), there, DigestOf("a"), there, DigestOf("a")});
  EXPECT_FALSE(missing.empty());
  for (const Digest& each : missing) EXPECT_EQ(each, DigestOf("a"));
}

TEST_P(FindMissing, R002_R003_AWrongSizeIsAnUnknownBlob) {
  const Digest there = MustPut(*store_, "0123456789");
  const Digest longer(there.function(), there.hash(), 11);
  EXPECT_THAT(Missing({longer, there}), UnorderedElementsAre(longer));
}

TEST_P(FindMissing, R013_TheEmptyBlobIsThereForEveryFunction) {
  for (const DigestFunction function : kDigestFunctions) {
    EXPECT_THAT(Missing({digest::EmptyDigest(function)}), IsEmpty());
  }
}

TEST_P(FindMissing, R018_SizeZeroWithAnotherHashIsNotTheEmptyBlob) {
  const auto zeros = Digest::FromHex(std::string(64, '0'), 0).value();
  EXPECT_THAT(Missing({zeros}), UnorderedElementsAre(zeros));
}

TEST_P(FindMissing, R001_RefusesHashesThatAreMalformed) {
  const std::string good = DigestOf("x").Hex();
  std::string upper = good;
  for (char& c : upper) c = static_cast<char>(toupper(c));
  for (const std::string& bad : {upper, good.substr(1), good + "0",
                                 "g" + good.substr(1), std::string()}) {
    EXPECT_EQ(CodeFor(bad), Code::kInvalidArgument) << bad;
  }
}

TEST_P(FindMissing, R004_D21_RefusesNegativeSizes) {
  EXPECT_EQ(CodeFor(DigestOf("x").Hex(), -1), Code::kInvalidArgument);
}

TEST_P(FindMissing, R022_D15_InfersTheFunctionFromTheHash) {
  for (const DigestFunction function : kDigestFunctions) {
    const Digest digest = DigestOf("x", function);
    EXPECT_EQ(CodeFor(digest.Hex()), Code::kOk);
    EXPECT_EQ(CodeFor(digest.Hex(), 1, "", static_cast<int>(function)),
              Code::kOk);
  }
}

TEST_P(FindMissing, R024_RefusesHashesOfAnotherFunctionAndMixedOnes) {
  EXPECT_EQ(CodeFor(DigestOf("x").Hex(), 1, "", proto::DigestFunction::SHA1),
            Code::kInvalidArgument);
  proto::FindMissingBlobsRequest request;
  *request.add_blob_digests() = ToProto(DigestOf("x"));
  *request.add_blob_digests() = ToProto(DigestOf("x", DigestFunction::kSha1));
  EXPECT_EQ(Ask(request).status.code, Code::kInvalidArgument);
}

TEST_P(FindMissing, R025_RefusesFunctionsThatAreNotOffered) {
  EXPECT_EQ(CodeFor(std::string(32, 'a'), 1, "", proto::DigestFunction::MD5),
            Code::kInvalidArgument);
  EXPECT_EQ(CodeFor(DigestOf("x").Hex(), 1, "", proto::DigestFunction::BLAKE3),
            Code::kInvalidArgument);
}

TEST_P(FindMissing, R028_BlobsOfDifferentFunctionsAreApart) {
  MustPut(*store_, "x");
  const Digest other = DigestOf("x", DigestFunction::kSha512);
  EXPECT_THAT(Missing({other}), UnorderedElementsAre(other));
}

TEST_P(FindMissing, R030_R032_TakesNamesOfSeveralSegments) {
  for (const std::string& name :
       std::vector<std::string>{"", "a", "projects/p/instances/i", "é"}) {
    EXPECT_EQ(CodeFor(DigestOf("x").Hex(), 1, name), Code::kOk) << name;
  }
}

TEST_P(FindMissing, R031_R036_RefusesNamesThatAreMalformed) {
  for (const std::string& name : std::vector<std::string>{
           "x/blobs/y", "uploads", "a//b", "/a", "a/", "..", "a/./b",
           "compressed-blobs", "a/actionResults"}) {
    EXPECT_EQ(CodeFor(DigestOf("x").Hex(), 1, name), Code::kInvalidArgument)
        << name;
  }
}

TEST_P(FindMissing, R232_PassesOverUnknownFields) {
  proto::FindMissingBlobsRequest request;
  *request.add_blob_digests() = ToProto(DigestOf("x"));
  const auto result = scene_.Call(
      "FindMissingBlobs", "\xc2\x3e\x03xyz" + request.SerializeAsString());
  EXPECT_TRUE(result.status.ok());
  proto::FindMissingBlobsResponse response;
  ASSERT_TRUE(response.ParseFromString(result.answer));
  EXPECT_EQ(response.missing_blob_digests_size(), 1);
}

TEST_P(FindMissing, RefusesGarbage) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    EXPECT_EQ(scene_.Call("FindMissingBlobs", testing::RandomText(10'000, seed))
                  .status.code,
              Code::kInvalidArgument);
  }
}

TEST_P(FindMissing, D22_TakesEightyThousandDigests) {
  const Digest there = MustPut(*store_, "there");
  proto::FindMissingBlobsRequest request;
  for (int i = 0; i < 80'000; ++i) {
    *request.add_blob_digests() = ToProto(DigestOf(std::to_string(i)));
  }
  *request.add_blob_digests() = ToProto(there);
  const auto answered = Ask(request);
  EXPECT_TRUE(answered.status.ok());
  EXPECT_EQ(answered.response.missing_blob_digests_size(), 80'000);
  EXPECT_EQ(scene_.admission.used(), 0);
}

TEST_P(FindMissing, R235_ACancelledCallWaitsForMemoryNoLonger) {
  Scene small(*store_, nullptr, 1000);
  const auto held = small.admission.TryTake(1000);
  proto::FindMissingBlobsRequest request;
  *request.add_blob_digests() = ToProto(DigestOf("x"));
  testing::MemoryCall call(small.ServiceOf("FindMissingBlobs"),
                           small.PathOf("FindMissingBlobs"), small.pool);
  call.Send(request.SerializeAsString());
  call.HalfClose();
  while (small.admission.waiting() == 0) std::this_thread::yield();
  call.Cancel();
  EXPECT_EQ(call.Wait().code, Code::kCancelled);
  EXPECT_EQ(small.admission.waiting(), 0u);
}

TEST_P(FindMissing, WaitsAMomentForMemory) {
  Scene small(*store_, nullptr, 1000);
  auto held = small.admission.TryTake(1000);
  proto::FindMissingBlobsRequest request;
  *request.add_blob_digests() = ToProto(DigestOf("x"));
  testing::MemoryCall call(small.ServiceOf("FindMissingBlobs"),
                           small.PathOf("FindMissingBlobs"), small.pool);
  call.Send(request.SerializeAsString());
  call.HalfClose();
  while (small.admission.waiting() == 0) std::this_thread::yield();
  held->Release();
  EXPECT_TRUE(call.Wait().ok());
  EXPECT_EQ(small.admission.used(), 0);
}

TEST(FindMissingBlobs, IsOneLookUp) {
  const auto memory = MakeMemoryStore();
  testing::CountingStore store(*memory);  // Its calls may wait.
  Scene scene(store);
  proto::FindMissingBlobsRequest request;
  for (int i = 0; i < 1000; ++i) {
    *request.add_blob_digests() = ToProto(DigestOf(std::to_string(i)));
  }
  const auto answered =
      scene.Call<proto::FindMissingBlobsResponse>("FindMissingBlobs", request);
  EXPECT_EQ(answered.response.missing_blob_digests_size(), 1000);
  EXPECT_EQ(store.find_missing, 1);
}

TEST(FindMissingBlobs, AnOutageIsNoAbsence) {
  testing::FailingStore store(Code::kUnavailable);
  Scene scene(store);
  proto::FindMissingBlobsRequest request;
  *request.add_blob_digests() = ToProto(DigestOf("x"));
  EXPECT_EQ(
      scene.Call<proto::FindMissingBlobsResponse>("FindMissingBlobs", request)
          .status.code,
      Code::kUnavailable);
}

}  // namespace
}  // namespace casemate::reapi
