#include "config/units.h"

#include <gtest/gtest.h>

namespace casemate::config {
namespace {

TEST(ParseSize, TakesBinaryUnitsInEitherCase) {
  EXPECT_EQ(ParseSize("4096").value(), 4096);
  EXPECT_EQ(ParseSize("64MiB").value(), 64 << 20);
  EXPECT_EQ(ParseSize("1.5 gib").value(), 3LL << 29);
  EXPECT_EQ(ParseSize("0B").value(), 0);
}

TEST(ParseSize, RefusesWhatIsNoSizeAndSaysWhatWouldBe) {
  for (const char* text : {"", "MiB", "-1", "1MB", "1 2", "inf", "nan", "1e3",
                           "9223372036854775808", "9000000TiB", "0x10"}) {
    const auto size = ParseSize(text);
    ASSERT_FALSE(size) << text;
    EXPECT_NE(size.error().message.find("64MiB"), std::string::npos);
  }
}

TEST(ParseDuration, WantsAUnit) {
  EXPECT_EQ(ParseDuration("5min").value(), std::chrono::minutes(5));
  EXPECT_EQ(ParseDuration("7d").value(), std::chrono::hours(24 * 7));
  EXPECT_FALSE(ParseDuration("30"));
}

TEST(FormatSize, RoundsToWhatAPersonReads) {
  EXPECT_EQ(FormatSize(0), "0 B");
  EXPECT_EQ(FormatSize(1023), "1023 B");
  EXPECT_EQ(FormatSize(1536), "1.5 KiB");
  EXPECT_EQ(FormatSize((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(FormatSize(312LL << 30), "312 GiB");
}

}  // namespace
}  // namespace casemate::config
