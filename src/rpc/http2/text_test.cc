#include "rpc/http2/text.h"

#include <gtest/gtest.h>

namespace casemate::rpc::http2 {
namespace {

using namespace std::chrono_literals;

TEST(Base64, G08_KnownVectors) {
  const std::pair<const char*, const char*> vectors[] = {
      {"", ""},
      {"f", "Zg"},
      {"fo", "Zm8"},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg"},
      {"fooba", "Zm9vYmE"},
      {"foobar", "Zm9vYmFy"},
      {"\xff\xfe\xfd", "//79"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(ToBase64(bytes), text);
    EXPECT_EQ(FromBase64(text), bytes);
  }
}

TEST(Base64, G08_PaddingMayBeThereOrNot) {
  EXPECT_EQ(FromBase64("Zg=="), "f");
  EXPECT_EQ(FromBase64("Zm8="), "fo");
  EXPECT_EQ(FromBase64("Zm9v"), "foo");
}

TEST(Base64, G08_WhatIsNoneIsRefused) {
  for (const char* text : {"Z", "Zg=", "Z===", "====", "Zm 8", "Zm-_", "Zm9vY",
                           "Zg==Zg==", "\xff\xff"}) {
    EXPECT_EQ(FromBase64(text), std::nullopt) << text;
  }
}

TEST(Base64, G08_AllBytesComeBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
    EXPECT_EQ(FromBase64(ToBase64(bytes)), bytes);
  }
}

TEST(PercentEncode, G17_EncodesAllButPrintableAscii) {
  EXPECT_EQ(PercentEncode("no such blob: a/b~"), "no such blob: a/b~");
  EXPECT_EQ(PercentEncode("100%"), "100%25");
  EXPECT_EQ(PercentEncode("\t\n\x7f\u2603"), "%09%0A%7F%E2%98%83");
}

TEST(ParseTimeout, G05_KnowsAllUnits) {
  EXPECT_EQ(ParseTimeout("2H"), 2h);
  EXPECT_EQ(ParseTimeout("3M"), 3min);
  EXPECT_EQ(ParseTimeout("4S"), 4s);
  EXPECT_EQ(ParseTimeout("5m"), 5ms);
  EXPECT_EQ(ParseTimeout("6u"), 6us);
  EXPECT_EQ(ParseTimeout("7n"), 7ns);
  EXPECT_EQ(ParseTimeout("00000000S"), 0s);
}

TEST(ParseTimeout, G05_TheLongestDoesNotOverflow) {
  EXPECT_GT(ParseTimeout("99999999H"), 50'000h);
  EXPECT_GT(ParseTimeout("99999999M"), 50'000h);
}

TEST(ParseTimeout, G05_WhatIsNoneIsRefused) {
  for (const char* text :
       {"", "S", "1", "1s", "-1S", "+1S", " 1S", "1.5S", "123456789S", "1 S"}) {
    EXPECT_EQ(ParseTimeout(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace casemate::rpc::http2
