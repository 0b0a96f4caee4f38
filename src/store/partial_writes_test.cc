#include "store/partial_writes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "store/for_test.h"
#include "testing/store_helpers.h"

namespace casemate::store {
namespace {

using testing::DigestOf;

// Counts how many there are.
class FakeUnfinished : public Unfinished {
 public:
  explicit FakeUnfinished(int& count) : count_(count) { ++count_; }
  ~FakeUnfinished() override { --count_; }

  Result<void> Append(const Context&,
                      std::span<const std::byte> data) override {
    if (data.size() == 13) return Error{Code::kInternal, "the disk broke"};
    return {};
  }
  Result<void> Publish(const Context&) override { return {}; }

 private:
  int& count_;
};

class PartialWritesTest : public ::testing::Test {
 protected:
  std::unique_ptr<Writer> Start(const std::string& id,
                                Encoding encoding = Encoding::kIdentity) {
    return table_
        .Start({}, digest_, id, encoding,
               [this]() -> Result<std::unique_ptr<Unfinished>> {
                 return std::make_unique<FakeUnfinished>(unfinished_);
               })
        .value();
  }

  void WriteAndLeave(const std::string& id, size_t size) {
    const auto writer = Start(id);
    ASSERT_TRUE(writer->Write({}, AsBytes(std::string(size, 'x'))));
  }

  int unfinished_ = 0;
  FakeClock clock_;
  PartialWrites table_{
      {.count = 3, .bytes = 1000, .age = std::chrono::minutes(10)}, clock_};
  const Digest digest_ = DigestOf(std::string(500, 'x'));
};

TEST_F(PartialWritesTest, RemovesAtOnceWhatCannotBeFoundAgain) {
  WriteAndLeave("", 10);
  EXPECT_EQ(unfinished_, 0);
}

TEST_F(PartialWritesTest, KeepsNoMoreThanItsCountAndForgetsTheOldest) {
  for (const char* const id : {"a", "b", "c", "d"}) {
    WriteAndLeave(id, 10);
    clock_.Advance(std::chrono::seconds(1));
  }
  EXPECT_EQ(unfinished_, 3);
  EXPECT_EQ(Start("a")->offset(), 0);
  EXPECT_EQ(Start("d")->offset(), 10);
}

TEST_F(PartialWritesTest, KeepsNoMoreThanItsBytes) {
  WriteAndLeave("a", 400);
  clock_.Advance(std::chrono::seconds(1));
  WriteAndLeave("b", 400);
  clock_.Advance(std::chrono::seconds(1));
  WriteAndLeave("c", 400);
  EXPECT_EQ(unfinished_, 2);
  EXPECT_EQ(Start("c")->offset(), 400);
}

TEST_F(PartialWritesTest, ForgetsWhatWasLeftLongAgo) {
  WriteAndLeave("a", 10);
  clock_.Advance(std::chrono::minutes(11));
  const auto other = Start("b");
  EXPECT_EQ(unfinished_, 1);
  EXPECT_EQ(Start("a")->offset(), 0);
}

TEST_F(PartialWritesTest, NeverTakesAWriterThatIsOpen) {
  const auto open = Start("open");
  clock_.Advance(std::chrono::minutes(11));
  for (const char* const id : {"a", "b", "c", "d"}) WriteAndLeave(id, 10);
  EXPECT_TRUE(open->Write({}, AsBytes(std::string(500, 'x'))));
  EXPECT_TRUE(open->Commit({}));
}

TEST_F(PartialWritesTest, DropsAWriteThatFailed) {
  const auto writer = Start("a");
  EXPECT_EQ(writer->Write({}, AsBytes("thirteen byte")).error().code,
            Code::kInternal);
  EXPECT_EQ(unfinished_, 0);
  EXPECT_EQ(writer->Write({}, AsBytes("x")).error().code,
            Code::kFailedPrecondition);
  EXPECT_EQ(writer->Commit({}).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(Start("a")->offset(), 0);
}

TEST_F(PartialWritesTest, KeepsNothingOfAWriterThatTookNothing) {
  Start("a").reset();
  EXPECT_EQ(unfinished_, 0);
  WriteAndLeave("b", 10);
  EXPECT_EQ(Start("b")->offset(), 10);
}

TEST_F(PartialWritesTest, R090_KeepsLittleOfTenThousandAbandonedUploads) {
  std::vector<std::unique_ptr<Writer>> writers;
  for (int i = 0; i < 10'000; ++i) {
    writers.push_back(Start(std::to_string(i)));
    ASSERT_TRUE(writers.back()->Write({}, AsBytes("x")));
  }
  EXPECT_EQ(unfinished_, 10'000);
  writers.clear();
  EXPECT_EQ(unfinished_, 3);
  clock_.Advance(std::chrono::minutes(11));
  Start("other").reset();
  EXPECT_EQ(unfinished_, 0);
}

TEST_F(PartialWritesTest, CountsWhatIsTakenUpAgainNoLonger) {
  WriteAndLeave("a", 400);
  WriteAndLeave("b", 400);
  const auto again = Start("a");
  WriteAndLeave("c", 400);
  EXPECT_EQ(Start("b")->offset(), 400);
  EXPECT_EQ(Start("c")->offset(), 400);
}

TEST_F(PartialWritesTest, LeavesAFrameWhereItsLastWholeBlockEnded) {
  const std::string frame =
      testing::Zstd(std::string(250, 'a') + testing::RandomText(250));
  auto writer = Start("a", Encoding::kZstd);
  ASSERT_TRUE(writer->Write({}, AsBytes(frame.substr(0, 200))));
  EXPECT_EQ(writer->offset(), 0);
  ASSERT_TRUE(writer->Write({}, AsBytes(frame.substr(200))));
  EXPECT_EQ(writer->offset(), 500);
}

TEST_F(PartialWritesTest, CommitsOnlyOnce) {
  const auto writer = Start("a");
  EXPECT_TRUE(writer->Write({}, AsBytes(std::string(500, 'x'))));
  EXPECT_TRUE(writer->Commit({}));
  EXPECT_EQ(unfinished_, 0);
  EXPECT_EQ(writer->Commit({}).error().code, Code::kFailedPrecondition);
}

TEST_F(PartialWritesTest, FreesTheIdWhenNothingCouldBeMade) {
  const auto none =
      table_.Start({}, digest_, "a", Encoding::kIdentity,
                   []() -> Result<std::unique_ptr<Unfinished>> {
                     return Error{Code::kResourceExhausted, "full"};
                   });
  EXPECT_EQ(none.error().code, Code::kResourceExhausted);
  EXPECT_EQ(Start("a")->offset(), 0);
}

}  // namespace
}  // namespace casemate::store
