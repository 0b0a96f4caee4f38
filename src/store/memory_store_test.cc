#include "store/memory_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "casemate/stores.h"
#include "testing/store_conformance.h"
#include "testing/store_helpers.h"

namespace casemate::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(MemoryStore, StoreConformance, ConformanceOf([] {
                           return StoreUnderTest{nullptr, MakeMemoryStore()};
                         }));

}  // namespace
}  // namespace casemate::testing

namespace casemate::store {
namespace {

using testing::BlobOf;
using testing::DigestOf;
using testing::MustRead;
using testing::TextSource;

TEST(MemoryStore, KeepsAndReturnsBytesByReference) {
  MemoryStore store;
  const Blob blob = BlobOf("a text too long to be kept inside of a string");
  ASSERT_TRUE(store.PutMany({}, std::span(&blob, 1))[0]);
  const Digest digest = blob.digest();
  const Blob got = store.GetMany({}, std::span(&digest, 1))[0].value();
  EXPECT_EQ(got.bytes().data(), blob.bytes().data());
}

TEST(MemoryStore, BelievesAVerifiedBlobWithoutHashingIt) {
  MemoryStore store;
  const Blob wrong =
      Blob::Verified(DigestOf("hello"), Bytes::FromString("hallo"));
  ASSERT_TRUE(store.PutMany({}, std::span(&wrong, 1))[0]);
  EXPECT_EQ(MustRead(store, DigestOf("hello")), "hallo");
}

TEST(MemoryStore, RefusesWhatIsBeyondItsBound) {
  MemoryStore store(10);
  EXPECT_TRUE(store.Put({}, DigestOf("12345"), TextSource("12345")));
  EXPECT_TRUE(store.Put({}, DigestOf("12345"), TextSource("12345")));
  EXPECT_EQ(
      store.Put({}, DigestOf("123456"), TextSource("123456")).error().code,
      Code::kResourceExhausted);
  EXPECT_EQ(store.StartWrite({}, DigestOf("123456"), "", Encoding::kIdentity)
                .error()
                .code,
            Code::kResourceExhausted);
  const std::vector<Blob> blobs = {BlobOf("abcd"), BlobOf("efgh"), BlobOf("i")};
  const auto results = store.PutMany({}, blobs);
  EXPECT_TRUE(results[0]);
  EXPECT_EQ(results[1].error().code, Code::kResourceExhausted);
  EXPECT_TRUE(results[2]);
}

TEST(MemoryStore, DoesNotAllocateWhatIsOnlyAnnounced) {
  MemoryStore store;
  const Digest huge(DigestFunction::kSha256, DigestOf("x").hash(), INT64_MAX);
  EXPECT_EQ(store.Put({}, huge, TextSource("x")).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace casemate::store
