#include "store/block_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "casemate/bytes.h"
#include "files/root.h"
#include "testing/temp_dir.h"

namespace casemate::store {
namespace {

std::string Text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class BlockTableTest : public ::testing::Test {
 protected:
  files::File FileOf(const std::string& content) {
    testing::WriteFile(dir_ / "file", content);
    return files::Root::Open(dir_.path())->OpenFile("file").value();
  }

  testing::TempDir dir_;
  // Three blocks, of 100, 200 and 300 bytes.
  const int64_t size_ = 2 * kBlockBytes + 7;
  const std::string frames_ = std::string(600, 'x');
  const std::string table_ =
      Text(MakeBlockTable(std::vector<uint32_t>{100, 200, 300}, size_));
};

TEST_F(BlockTableTest, IsThatOfTheZstdSeekableFormat) {
  const std::string expected(
      "\x5e\x2a\x4d\x18\x21\0\0\0"  // Skippable, 33 bytes follow.
      "\x64\0\0\0\0\0\x10\0"
      "\xc8\0\0\0\0\0\x10\0"
      "\x2c\x01\0\0\x07\0\0\0"
      "\x03\0\0\0\0\xb1\xea\x92\x8f",
      41);
  EXPECT_EQ(table_, expected);
  EXPECT_EQ(BlockTableBytes(3), 41);
}

TEST_F(BlockTableTest, YieldsWhatWasWritten) {
  const auto file = FileOf(frames_ + table_);
  auto table = BlockTable::Find(file, size_).value();
  ASSERT_TRUE(table);
  EXPECT_EQ(table->begin(), 600);
  for (const int64_t size : {100, 200, 300, 0, 0}) {
    EXPECT_EQ(table->Next().value(), size);
  }
}

TEST_F(BlockTableTest, FindsWhereABlockBegins) {
  const auto file = FileOf(frames_ + table_);
  for (const auto& [index, position] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {1, 100}, {2, 300}}) {
    EXPECT_EQ(BlockTable::Find(file, size_).value()->Position(index).value(),
              position);
  }
}

TEST_F(BlockTableTest, IsNotThereForABlobOfAnotherSize) {
  const auto file = FileOf(frames_ + table_);
  for (const int64_t size :
       {int64_t{1}, kBlockBytes, 2 * kBlockBytes, 4 * kBlockBytes, INT64_MAX}) {
    EXPECT_FALSE(BlockTable::Find(file, size).value()) << size;
  }
}

TEST_F(BlockTableTest, IsNotThereIfAnyOfItsFormIsWrong) {
  for (const size_t at : {0u, 4u, 7u, 32u, 36u, 37u, 40u}) {
    std::string bad = table_;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    const auto file = FileOf(frames_ + bad);
    EXPECT_FALSE(BlockTable::Find(file, size_).value()) << at;
  }
  for (const std::string& bad : {table_, table_.substr(1), std::string("x")}) {
    const auto file = FileOf(bad);
    EXPECT_FALSE(BlockTable::Find(file, size_).value());
  }
}

TEST_F(BlockTableTest, LeadsNowhereIfItsEntriesAreWrong) {
  for (const size_t at : {size_t{8}, size_t{11}, size_t{12}}) {
    std::string bad = table_;
    bad[at] = static_cast<char>(at == 8 ? 0 : 0x7f);
    const auto file = FileOf(frames_ + bad);
    auto table = BlockTable::Find(file, size_).value();
    ASSERT_TRUE(table);
    EXPECT_EQ(table->Position(2).error().code, Code::kDataLoss) << at;
  }
}

TEST_F(BlockTableTest, MayBeLong) {
  const std::vector<uint32_t> sizes(3000, 10);
  const int64_t size = 3000 * kBlockBytes;
  const auto file =
      FileOf(std::string(30'000, 'x') + Text(MakeBlockTable(sizes, size)));
  EXPECT_EQ(BlockTable::Find(file, size).value()->Position(2999).value(),
            29'990);
}

TEST(Saves, ABlockOfTheDiskAndATwentieth) {
  EXPECT_TRUE(Saves(8192, 4096));
  EXPECT_FALSE(Saves(8192, 4097));
  EXPECT_FALSE(Saves(4097, 4097));
  EXPECT_TRUE(Saves(1'000'000, 950'000));
  EXPECT_FALSE(Saves(1'000'000, 950'001));
  EXPECT_TRUE(Saves(INT64_MAX, 1));
}

}  // namespace
}  // namespace casemate::store
