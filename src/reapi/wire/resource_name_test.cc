#include "reapi/wire/resource_name.h"

#include <gtest/gtest.h>

#include <array>

#include "digest/hasher.h"

namespace casemate::reapi {
namespace {

// What a parsed name refers to must outlive it.
std::string InstanceOfRead(const std::string& text) {
  const auto name = ParseReadName(text);
  return name ? std::string(name->instance) : "none";
}

std::string InstanceOfWrite(const std::string& text) {
  const auto name = ParseWriteName(text);
  return name ? std::string(name->instance) : "none";
}

const std::string kHash =
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const std::string kSha1 = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d";

Code ReadCode(const std::string& name) {
  const auto parsed = ParseReadName(name);
  return parsed ? Code::kOk : parsed.error().code;
}

Code WriteCode(const std::string& name) {
  const auto parsed = ParseWriteName(name);
  return parsed ? Code::kOk : parsed.error().code;
}

TEST(ResourceName, R037_ReadFormsAreParsed) {
  const std::string plain_name = "blobs/" + kHash + "/5";
  const auto plain = ParseReadName(plain_name);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->instance, "");
  EXPECT_EQ(plain->digest.ToString(), kHash + "/5");
  EXPECT_EQ(plain->encoding, Encoding::kIdentity);
  const std::string zstd_name = "a/b/compressed-blobs/zstd/" + kHash + "/5";
  const auto zstd = ParseReadName(zstd_name);
  ASSERT_TRUE(zstd);
  EXPECT_EQ(zstd->instance, "a/b");
  EXPECT_EQ(zstd->encoding, Encoding::kZstd);
}

TEST(ResourceName, R037_AnythingElseIsMalformedForReading) {
  const std::string bad[] = {"",
                             "/",
                             "blobs",
                             "blobs/",
                             "blobs/" + kHash,
                             "blobs/" + kHash + "/",
                             "blobs/" + kHash + "/x",
                             "blobs/" + kHash + "/-1",
                             "blobs/" + kHash + "/+5",
                             "blobs/" + kHash + "/0x5",
                             "blobs/" + kHash + "/ 5",
                             "blobs/" + kHash + "/5.0",
                             "blobs/" + kHash + "/9223372036854775808",
                             "blobs//5",
                             "blobs/5",
                             "blob/" + kHash + "/5",
                             kHash + "/5",
                             "blobs/zstd/" + kHash + "/5",
                             "uploads/u/blobs/" + kHash + "/5",
                             "blobs/blobs/" + kHash + "/5",
                             "compressed-blobs/" + kHash + "/5",
                             "compressed-blobs",
                             "compressed-blobs/zstd",
                             "x/operations/y"};
  for (const std::string& name : bad) {
    EXPECT_EQ(ReadCode(name), Code::kInvalidArgument) << name;
  }
}

TEST(ResourceName, R038_NothingFollowsTheSizeOfARead) {
  EXPECT_EQ(ReadCode("blobs/" + kHash + "/5/file.txt"), Code::kInvalidArgument);
  EXPECT_EQ(ReadCode("blobs/" + kHash + "/5/"), Code::kInvalidArgument);
}

TEST(ResourceName, R001_TheHashIsLowercaseHexOfFullLength) {
  std::string upper = kHash;
  upper[0] = 'A';
  std::string letter = kHash;
  letter[0] = 'g';
  for (const std::string& hash :
       {upper, letter, kHash.substr(1), kHash + "0", std::string()}) {
    EXPECT_EQ(ReadCode("blobs/" + hash + "/5"), Code::kInvalidArgument);
    EXPECT_EQ(WriteCode("uploads/u/blobs/" + hash + "/5"),
              Code::kInvalidArgument);
  }
}

TEST(ResourceName, R004_ANegativeSizeIsMalformed) {
  EXPECT_EQ(WriteCode("uploads/u/blobs/" + kHash + "/-1"),
            Code::kInvalidArgument);
}

TEST(ResourceName, R027_ARedundantFunctionIsAcceptedIfTheHashFits) {
  EXPECT_EQ(ReadCode("blobs/sha256/" + kHash + "/5"), Code::kOk);
  EXPECT_EQ(ReadCode("compressed-blobs/zstd/sha1/" + kSha1 + "/5"), Code::kOk);
  EXPECT_EQ(WriteCode("uploads/u/blobs/sha256/" + kHash + "/5"), Code::kOk);
  EXPECT_EQ(ReadCode("blobs/sha1/" + kHash + "/5"), Code::kInvalidArgument);
  EXPECT_EQ(ReadCode("blobs/sha256"), Code::kInvalidArgument);
}

TEST(ResourceName, R025_KnownFunctionsThatAreNotOfferedAreRefused) {
  for (const std::string function :
       {"md5", "vso", "murmur3", "sha256tree", "blake3", "gitsha1"}) {
    const auto parsed = ParseReadName("blobs/" + function + "/" + kHash + "/5");
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
    EXPECT_NE(parsed.error().message.find(function), std::string::npos);
  }
}

TEST(ResourceName, R022_TheHashAloneTellsTheFunction) {
  EXPECT_EQ(ParseReadName("blobs/" + kSha1 + "/5")->digest.function(),
            DigestFunction::kSha1);
  EXPECT_EQ(ReadCode("blobs/" + std::string(32, 'a') + "/5"),
            Code::kInvalidArgument);
}

TEST(ResourceName, R031_ReservedWordsAreNoSegmentsOfAnInstance) {
  for (const std::string word :
       {"blobs", "uploads", "actions", "actionResults", "operations",
        "capabilities", "compressed-blobs"}) {
    for (const std::string& name :
         {word, "x/" + word, word + "/y", "x/" + word + "/y"}) {
      const auto checked = CheckInstanceName(name);
      ASSERT_FALSE(checked) << name;
      EXPECT_EQ(checked.error().code, Code::kInvalidArgument);
    }
  }
  EXPECT_TRUE(CheckInstanceName("blobs2/xuploads/Actions"));
  EXPECT_EQ(ReadCode("x/actions/blobs/" + kHash + "/5"),
            Code::kInvalidArgument);
}

TEST(ResourceName, R032_InstancesHaveAnyNumberOfSegments) {
  EXPECT_EQ(InstanceOfRead("projects/p/instances/i/blobs/" + kHash + "/5"),
            "projects/p/instances/i");
  EXPECT_EQ(InstanceOfWrite("projects/p/i/uploads/u/blobs/" + kHash + "/5"),
            "projects/p/i");
}

TEST(ResourceName, R036_EmptyAndDottedSegmentsAreMalformed) {
  for (const std::string name :
       {"a//b", "/a", "a/", "..", ".", "a/../b", "/", "//"}) {
    EXPECT_FALSE(CheckInstanceName(name)) << name;
    EXPECT_EQ(ReadCode(name + "/blobs/" + kHash + "/5"),
              Code::kInvalidArgument);
    EXPECT_EQ(WriteCode(name + "/uploads/u/blobs/" + kHash + "/5"),
              Code::kInvalidArgument);
  }
  EXPECT_TRUE(CheckInstanceName("...") && CheckInstanceName(""));
}

TEST(ResourceName, R034_InstancesMayBeUnicode) {
  const std::string name = "b\xC3\xBCild.farm/\xE6\x9D\xB1\xE4\xBA\xAC";
  EXPECT_EQ(InstanceOfRead(name + "/blobs/" + kHash + "/5"), name);
  EXPECT_EQ(ReadCode("\xFF/blobs/" + kHash + "/5"), Code::kInvalidArgument);
  EXPECT_FALSE(CheckInstanceName("\xC3"));
}

TEST(ResourceName, D16_OneLeadingSlashOfTheEmptyInstanceIsDropped) {
  EXPECT_EQ(InstanceOfRead("/blobs/" + kHash + "/5"), "");
  EXPECT_EQ(WriteCode("/uploads/u/blobs/" + kHash + "/5"), Code::kOk);
  EXPECT_EQ(ReadCode("//blobs/" + kHash + "/5"), Code::kInvalidArgument);
  EXPECT_EQ(ReadCode("/a/blobs/" + kHash + "/5"), Code::kInvalidArgument);
}

TEST(ResourceName, D17_NamesAreParsedByTheReservedWords) {
  const std::string text = "uploads/blobs/blobs/" + kHash + "/5";
  const auto name = ParseWriteName(text);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->uuid, "blobs");
}

TEST(ResourceName, R053_OnlyZstdIsACompressor) {
  for (const std::string compressor :
       {"gzip", "deflate", "brotli", "identity", "ZSTD", ""}) {
    EXPECT_EQ(ReadCode("compressed-blobs/" + compressor + "/" + kHash + "/5"),
              Code::kInvalidArgument);
  }
}

TEST(ResourceName, R091_OnlyZstdIsACompressorOfUploads) {
  EXPECT_EQ(WriteCode("uploads/u/compressed-blobs/gzip/" + kHash + "/5"),
            Code::kInvalidArgument);
  const auto name =
      ParseWriteName("uploads/u/compressed-blobs/zstd/" + kHash + "/5");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->encoding, Encoding::kZstd);
}

TEST(ResourceName, R063_OnlyTheUploadFormMayBeWritten) {
  const std::string bad[] = {"",
                             "blobs/" + kHash + "/5",
                             "uploads",
                             "uploads/u",
                             "uploads/u/blobs",
                             "uploads//blobs/" + kHash + "/5",
                             "uploads/blobs/" + kHash + "/5",
                             "uploads/u/blob/" + kHash + "/5",
                             "uploads/u/" + kHash + "/5",
                             "uploads/u/blobs/" + kHash + "/five",
                             "upload/u/blobs/" + kHash + "/5",
                             "uploads/u/blobs/" + kHash};
  for (const std::string& name : bad) {
    EXPECT_EQ(WriteCode(name), Code::kInvalidArgument) << name;
  }
}

TEST(ResourceName, R083_WhatFollowsTheSizeOfAnUploadMeansNothing) {
  const std::string name = "uploads/u/blobs/" + kHash + "/5";
  const std::string more[] = {"/a/b%2F/c", "/blobs", "/blobs/x/7",
                              "/",         "//",     "/uploads/v"};
  for (const std::string& each : more) {
    const std::string text = name + each;
    const auto parsed = ParseWriteName(text);
    ASSERT_TRUE(parsed) << each;
    EXPECT_EQ(FormatWriteName(*parsed), name);
  }
}

TEST(ResourceName, R033_TheEmptyInstanceHasNoSlash) {
  ResourceName name;
  name.uuid = "u";
  name.digest = *Digest::FromHex(kHash, 5);
  EXPECT_EQ(FormatReadName(name), "blobs/" + kHash + "/5");
  EXPECT_EQ(FormatWriteName(name), "uploads/u/blobs/" + kHash + "/5");
  name.encoding = Encoding::kZstd;
  name.instance = "a/b";
  EXPECT_EQ(FormatReadName(name), "a/b/compressed-blobs/zstd/" + kHash + "/5");
}

TEST(ResourceName, R026_NoFunctionIsNamedWhereTheHashTells) {
  for (const DigestFunction function : kDigestFunctions) {
    ResourceName name;
    name.digest = digest::EmptyDigest(function);
    EXPECT_EQ(FormatReadName(name), "blobs/" + name.digest.ToString());
    EXPECT_EQ(ViolationSubject(name.digest), FormatReadName(name));
  }
}

TEST(ResourceName, LongNamesAreRefusedWithAShortMessage) {
  const auto parsed = ParseReadName(std::string(1 << 20, 'a'));
  ASSERT_FALSE(parsed);
  EXPECT_LT(parsed.error().message.size(), 400u);
  EXPECT_FALSE(CheckInstanceName(std::string(5000, 'a')));
}

}  // namespace
}  // namespace casemate::reapi
