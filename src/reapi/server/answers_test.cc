#include "reapi/server/answers.h"

#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "testing/store_helpers.h"

namespace casemate::reapi {
namespace {

using casemate::testing::DigestOf;

TEST(Answers, R072_R117_BytesThatDoNotMatchAreTheClientsFault) {
  EXPECT_EQ(UploadError({Code::kDataLoss, "x"}).code, Code::kInvalidArgument);
  EXPECT_EQ(UploadError({Code::kOutOfRange, "x"}).code, Code::kInvalidArgument);
  EXPECT_EQ(UploadError({Code::kResourceExhausted, "x"}).code,
            Code::kResourceExhausted);
  EXPECT_EQ(UploadError({Code::kUnavailable, "x"}).message, "x");
}

TEST(Answers, D04_NothingAlreadyExists) {
  EXPECT_EQ(UploadError({Code::kAlreadyExists, "x"}).code, Code::kInternal);
}

TEST(Answers, R188_D31_MissingBlobsAreNamedInTheDetails) {
  const std::vector<Digest> missing = {DigestOf("a"),
                                       DigestOf("b", DigestFunction::kSha1)};
  const rpc::Status status = MissingBlobs("two blobs are missing", missing);
  EXPECT_EQ(status.code, Code::kFailedPrecondition);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.details));
  EXPECT_EQ(details.code(), 9);
  EXPECT_EQ(details.message(), "two blobs are missing");
  ASSERT_EQ(details.details_size(), 1);
  google::rpc::PreconditionFailure failure;
  ASSERT_TRUE(details.details(0).UnpackTo(&failure));
  ASSERT_EQ(failure.violations_size(), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(failure.violations(i).type(), "MISSING");
    EXPECT_EQ(failure.violations(i).subject(),
              "blobs/" + missing[static_cast<size_t>(i)].ToString());
  }
}

TEST(Answers, R188_ManyMissingBlobsDoNotMakeALargeTrailer) {
  const std::vector<Digest> missing(10000, DigestOf("a"));
  const rpc::Status status = MissingBlobs("many", missing);
  EXPECT_LT(status.details.size(), 5000u);
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.details));
}

}  // namespace
}  // namespace casemate::reapi
