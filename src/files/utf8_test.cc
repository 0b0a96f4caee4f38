#include "files/utf8.h"

#include <gtest/gtest.h>

namespace casemate::files {
namespace {

TEST(IsUtf8, TakesEveryLength) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("plain and long enough for whole words"));
  EXPECT_TRUE(IsUtf8("é"));
  EXPECT_TRUE(IsUtf8("twelve bytes, then €"));
  EXPECT_TRUE(IsUtf8("\xf0\x9f\x98\x80"));
  EXPECT_TRUE(IsUtf8("\xf4\x8f\xbf\xbf"));  // U+10FFFF.
}

TEST(IsUtf8, RefusesBrokenCharacters) {
  EXPECT_FALSE(IsUtf8("\xff"));
  EXPECT_FALSE(IsUtf8("abc\x80"));
  EXPECT_FALSE(IsUtf8("abc\xe2\x82"));   // Cut short.
  EXPECT_FALSE(IsUtf8("\xe2\x28\xa1"));  // No continuation.
  EXPECT_FALSE(IsUtf8("\xf0\x9f\x98\x28"));
}

TEST(IsUtf8, RefusesOverlongForms) {
  EXPECT_FALSE(IsUtf8("\xc0\xaf"));
  EXPECT_FALSE(IsUtf8("\xc1\xbf"));
  EXPECT_FALSE(IsUtf8("\xe0\x9f\xbf"));
  EXPECT_FALSE(IsUtf8("\xf0\x8f\xbf\xbf"));
}

TEST(IsUtf8, RefusesSurrogatesAndWhatIsBeyondUnicode) {
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));
  EXPECT_TRUE(IsUtf8("\xed\x9f\xbf"));
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80"));
  EXPECT_FALSE(IsUtf8("\xf5\x80\x80\x80"));
}

}  // namespace
}  // namespace casemate::files
