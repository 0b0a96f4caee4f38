#include "reapi/server/capabilities_service.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reapi/server/cas_for_test.h"

namespace casemate::reapi {
namespace {

using testing::DigestOf;
using testing::Zstd;

class Capabilities : public ::testing::Test {
 protected:
  proto::ServerCapabilities Ask(const std::string& instance = "") {
    proto::GetCapabilitiesRequest request;
    request.set_instance_name(instance);
    auto answered =
        scene_.Call<proto::ServerCapabilities>("GetCapabilities", request);
    EXPECT_TRUE(answered.status.ok()) << answered.status.message;
    return answered.response;
  }

  const std::unique_ptr<BlobStore> store_ = MakeMemoryStore();
  Scene scene_{*store_};
};

TEST_F(Capabilities, R190_ACacheHasNoExecution) {
  const auto all = Ask();
  EXPECT_TRUE(all.has_cache_capabilities());
  EXPECT_FALSE(all.has_execution_capabilities());
}

TEST_F(Capabilities, R191_D35_VersionsAreSet) {
  const auto all = Ask();
  EXPECT_EQ(all.low_api_version().major(), 2);
  EXPECT_EQ(all.low_api_version().minor(), 0);
  EXPECT_EQ(all.high_api_version().major(), 2);
  EXPECT_EQ(all.high_api_version().minor(), 12);
  EXPECT_FALSE(all.has_deprecated_api_version());
}

TEST_F(Capabilities, R021_ListsItsFunctionsAndNeverUnknown) {
  const auto all = Ask();
  const auto& functions = all.cache_capabilities().digest_functions();
  EXPECT_EQ(std::vector<int>(functions.begin(), functions.end()),
            (std::vector<int>{1, 2, 5, 6}));
}

TEST_F(Capabilities, R021_R195_EachListedFunctionWorks) {
  const auto all = Ask();
  for (const int number : all.cache_capabilities().digest_functions()) {
    const auto function = static_cast<DigestFunction>(number);
    proto::BatchUpdateBlobsRequest request;
    request.set_digest_function(
        static_cast<proto::DigestFunction::Value>(number));
    auto& item = *request.add_requests();
    *item.mutable_digest() = ToProto(DigestOf("x", function));
    item.set_data("x");
    const auto answered = scene_.Call<proto::BatchUpdateBlobsResponse>(
        "BatchUpdateBlobs", request);
    EXPECT_EQ(answered.response.responses(0).status().code(), 0);
  }
}

TEST_F(Capabilities, R195_EachListedBatchCompressorWorks) {
  const auto all = Ask();
  const auto& cache = all.cache_capabilities();
  ASSERT_EQ(cache.supported_batch_update_compressors_size(), 1);
  ASSERT_EQ(cache.supported_compressors_size(), 1);
  EXPECT_EQ(cache.supported_compressors(0), proto::Compressor::ZSTD);
  proto::BatchUpdateBlobsRequest request;
  auto& item = *request.add_requests();
  *item.mutable_digest() = ToProto(DigestOf("hello"));
  item.set_data(Zstd("hello"));
  item.set_compressor(cache.supported_batch_update_compressors(0));
  const auto answered =
      scene_.Call<proto::BatchUpdateBlobsResponse>("BatchUpdateBlobs", request);
  EXPECT_EQ(answered.response.responses(0).status().code(), 0);
}

TEST_F(Capabilities, R195_R205_D34_SplittingIsNotOfferedAndNotServed) {
  const auto all = Ask();
  EXPECT_FALSE(all.cache_capabilities().split_blob_support());
  EXPECT_FALSE(all.cache_capabilities().splice_blob_support());
  EXPECT_FALSE(all.cache_capabilities().has_fast_cdc_2020_params());
  for (const char* const method : {"SplitBlob", "SpliceBlob"}) {
    EXPECT_EQ(scene_.Call(method, "").status.code, Code::kUnimplemented);
  }
}

TEST_F(Capabilities, R196_D19_TheBatchLimitIsStated) {
  EXPECT_EQ(Ask().cache_capabilities().max_batch_total_size_bytes(), 4'000'000);
}

TEST_F(Capabilities, R085_TheLargestBlobIsStatedIfThereIsOne) {
  EXPECT_EQ(Ask().cache_capabilities().max_cas_blob_size_bytes(), 0);
  scene_.Use({.max_cas_blob_size = 1000});
  EXPECT_EQ(Ask().cache_capabilities().max_cas_blob_size_bytes(), 1000);
}

TEST_F(Capabilities, R197_R156_D26_AbsoluteLinksAreAllowed) {
  EXPECT_EQ(Ask().cache_capabilities().symlink_absolute_path_strategy(),
            proto::SymlinkAbsolutePathStrategy::ALLOWED);
}

TEST_F(Capabilities, R198_UpdatesAreOfferedAndServed) {
  EXPECT_TRUE(Ask()
                  .cache_capabilities()
                  .action_cache_update_capabilities()
                  .update_enabled());
}

TEST_F(Capabilities, R193_R032_AnswersForEachInstance) {
  EXPECT_EQ(Ask("a/b").SerializeAsString(), Ask("").SerializeAsString());
}

TEST_F(Capabilities, R194_R230_HasNoErrorsOfItsOwn) {
  const auto result = testing::CallUnary(
      scene_.ServiceOf("GetCapabilities"), scene_.PathOf("GetCapabilities"), "",
      scene_.pool,
      {{"build.bazel.remote.execution.v2.requestmetadata-bin",
        "\xff garbage"}});
  EXPECT_TRUE(result.status.ok());
}

}  // namespace
}  // namespace casemate::reapi
