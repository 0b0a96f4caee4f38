#include "rpc/grpc/byte_buffer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace casemate::rpc {
namespace {

// Bytes whose owner can be watched.
struct Watched {
  explicit Watched(size_t size)
      : owner(std::make_shared<std::string>(size, 'x')),
        watch(owner),
        bytes(Bytes::Share(owner, AsBytes(*owner))) {
    owner.reset();
  }
  std::shared_ptr<std::string> owner;
  std::weak_ptr<std::string> watch;
  Bytes bytes;
};

TEST(ByteBuffer, SharesLargePiecesAndKeepsThemAlive) {
  Watched large(100'000);
  grpc::ByteBuffer buffer = ToGrpc(Message(std::move(large.bytes)));
  EXPECT_FALSE(large.watch.expired());
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(buffer.Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_EQ(static_cast<const void*>(slices[0].begin()),
            large.watch.lock()->data());
  slices.clear();
  buffer.Clear();
  EXPECT_TRUE(large.watch.expired());
}

TEST(ByteBuffer, KeepsAllPiecesUntilTheLastSliceIsGone) {
  Watched one(5000), two(5000);
  Message message(std::move(one.bytes));
  message.Append(std::move(two.bytes));
  grpc::ByteBuffer buffer = ToGrpc(std::move(message));
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(buffer.Dump(&slices).ok());
  buffer.Clear();
  slices.erase(slices.begin());
  EXPECT_FALSE(two.watch.expired());
  slices.clear();
  EXPECT_TRUE(one.watch.expired());
  EXPECT_TRUE(two.watch.expired());
}

TEST(ByteBuffer, CopiesSmallPiecesAndLetsThemGo) {
  Watched small(100);
  const grpc::ByteBuffer buffer = ToGrpc(Message(std::move(small.bytes)));
  EXPECT_TRUE(small.watch.expired());
  EXPECT_EQ(buffer.Length(), 100u);
}

class BackAndForth : public ::testing::TestWithParam<std::vector<size_t>> {};

TEST_P(BackAndForth, KeepsTheBytes) {
  Message message;
  std::string all;
  for (const size_t size : GetParam()) {
    std::string piece(size, char('a' + all.size() % 26));
    all += piece;
    message.Append(Bytes::FromString(std::move(piece)));
  }
  grpc::ByteBuffer buffer = ToGrpc(std::move(message));
  const Message back = FromGrpc(buffer, 0).value();
  EXPECT_FALSE(buffer.Valid());
  EXPECT_EQ(back.size(), all.size());
  EXPECT_EQ(back.Joined().view(), all);
}

INSTANTIATE_TEST_SUITE_P(
    Pieces, BackAndForth,
    ::testing::Values(std::vector<size_t>{}, std::vector<size_t>{1},
                      std::vector<size_t>{23, 24},
                      std::vector<size_t>{1024, 1025, 2},
                      std::vector<size_t>{5, 4096, 5, 4096, 5, 4096},
                      std::vector<size_t>{3'000'000}));

TEST(ByteBuffer, AReceivedMessageOutlivesTheBuffer) {
  Message message;
  {
    const grpc::Slice slice(std::string(50'000, 'y'));
    grpc::ByteBuffer buffer(&slice, 1);
    message = FromGrpc(buffer, 0).value();
  }
  EXPECT_EQ(message.Joined().view(), std::string(50'000, 'y'));
}

}  // namespace
}  // namespace casemate::rpc
