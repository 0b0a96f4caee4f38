#include "casemate/digest.h"

#include <gtest/gtest.h>

#include <string>

#include "casemate/blob.h"
#include "digest/hasher.h"

namespace casemate {
namespace {

constexpr char kEmptySha256[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Digest, PrintsWhatItParsed) {
  const std::string text = std::string(kEmptySha256) + "/1234567890123";
  EXPECT_EQ(Digest::Parse(text).value().ToString(), text);
}

TEST(Digest, TellsItsFunctionFromTheLengthOfItsHash) {
  for (const DigestFunction function : kDigestFunctions) {
    const Digest digest = digest::Hash(function, AsBytes("abc"));
    const Digest parsed = Digest::Parse(digest.ToString()).value();
    EXPECT_EQ(parsed.function(), function);
    EXPECT_EQ(parsed, digest);
  }
}

TEST(Digest, RefusesEveryMalformedForm) {
  const std::string hash = kEmptySha256;
  std::string upper = hash;
  upper[0] = 'E';
  for (const std::string& text :
       {std::string(), hash, hash + "/", hash + "/-1", hash + "/+1",
        hash + "/01", hash + "/1x", hash + "/ 1", hash + "/1 ",
        hash + "/9223372036854775808", hash.substr(1) + "/1", hash + "0/1",
        upper + "/1", std::string("/1"), hash + "/1/2",
        "g" + hash.substr(1) + "/1", std::string(40, '.') + "/1"}) {
    const auto digest = Digest::Parse(text);
    ASSERT_FALSE(digest) << text;
    EXPECT_EQ(digest.error().code, Code::kInvalidArgument);
  }
}

TEST(Digest, AcceptsTheLargestSize) {
  const auto digest =
      Digest::Parse(std::string(kEmptySha256) + "/9223372036854775807");
  EXPECT_EQ(digest.value().size(), INT64_MAX);
}

TEST(Digest, OfOtherSizeIsAnotherDigest) {
  EXPECT_NE(Digest::FromHex(kEmptySha256, 0).value(),
            Digest::FromHex(kEmptySha256, 1).value());
}

TEST(Hasher, GivesThePublishedHashesOfTheEmptyBlob) {
  EXPECT_EQ(digest::EmptyDigest(DigestFunction::kSha256).Hex(), kEmptySha256);
  EXPECT_EQ(digest::EmptyDigest(DigestFunction::kSha1).Hex(),
            "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(digest::EmptyDigest(DigestFunction::kSha384).Hex(),
            "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da"
            "274edebfe76f65fbd51ad2f14898b95b");
  EXPECT_EQ(digest::EmptyDigest(DigestFunction::kSha512).Hex(),
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
            "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e");
}

TEST(Hasher, StartsAnewAfterFinishAndAfterReset) {
  digest::Hasher hasher(DigestFunction::kSha256);
  const Digest abc = digest::Hash(DigestFunction::kSha256, AsBytes("abc"));
  hasher.Update(AsBytes("ab"));
  hasher.Update(AsBytes("c"));
  EXPECT_EQ(hasher.Finish(), abc);
  hasher.Update(AsBytes("xyz"));
  hasher.Reset();
  hasher.Update(AsBytes("abc"));
  EXPECT_EQ(hasher.size(), 3);
  EXPECT_EQ(hasher.Finish(), abc);
  EXPECT_TRUE(digest::IsEmpty(hasher.Finish()));
}

TEST(Blob, IsHashedOnlyWhenSomebodyMerelyClaimsItsDigest) {
  const Blob good = Blob::Of(DigestFunction::kSha256, Bytes::FromString("abc"));
  EXPECT_TRUE(good.verified());
  EXPECT_TRUE(Blob::Claimed(good.digest(), good.bytes()).Verify());
  const Blob bad = Blob::Claimed(good.digest(), Bytes::FromString("abd"));
  EXPECT_EQ(bad.Verify().error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace casemate
