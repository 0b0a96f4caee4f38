#include "store/trust_table.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/store_helpers.h"

namespace casemate::store {
namespace {

using testing::DigestOf;

constexpr files::Stat kStat = {.kind = files::Kind::kRegular,
                               .device = 1,
                               .inode = 2,
                               .size = 3,
                               .mtime = 4,
                               .ctime = 5};

TEST(TrustTable, KnowsWhatWasAdded) {
  TrustTable table;
  EXPECT_FALSE(table.Contains(DigestOf("a"), kStat));
  table.Add(DigestOf("a"), kStat);
  EXPECT_TRUE(table.Contains(DigestOf("a"), kStat));
  EXPECT_FALSE(table.Contains(DigestOf("b"), kStat));
}

TEST(TrustTable, SeesEveryChangeOfTheFile) {
  TrustTable table;
  table.Add(DigestOf("a"), kStat);
  files::Stat changed[5] = {kStat, kStat, kStat, kStat, kStat};
  ++changed[0].device;
  ++changed[1].inode;
  ++changed[2].size;
  ++changed[3].mtime;
  ++changed[4].ctime;
  for (const files::Stat& each : changed) {
    EXPECT_FALSE(table.Contains(DigestOf("a"), each));
  }
}

TEST(TrustTable, DoesNotMindAnotherAtime) {
  TrustTable table;
  table.Add(DigestOf("a"), kStat);
  files::Stat read = kStat;
  read.atime = 99;
  EXPECT_TRUE(table.Contains(DigestOf("a"), read));
}

int CountKnown(const TrustTable& table, int added) {
  int known = 0;
  for (int i = 0; i < added; ++i) {
    known += table.Contains(DigestOf(std::to_string(i)), kStat);
  }
  return known;
}

TEST(TrustTable, GrowsWithoutForgetting) {
  TrustTable table(100'000);
  for (int i = 0; i < 10'000; ++i)
    table.Add(DigestOf(std::to_string(i)), kStat);
  EXPECT_EQ(CountKnown(table, 10'000), 10'000);
}

TEST(TrustTable, ForgetsSomeWhenItIsFull) {
  TrustTable table(1024);
  for (int i = 0; i < 5000; ++i) table.Add(DigestOf(std::to_string(i)), kStat);
  const int known = CountKnown(table, 5000);
  EXPECT_LE(known, 1024);
  EXPECT_GT(known, 900);
  EXPECT_TRUE(table.Contains(DigestOf("4999"), kStat));
}

}  // namespace
}  // namespace casemate::store
