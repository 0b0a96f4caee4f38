#include "rpc/grpc/inflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace casemate::rpc {
namespace {

std::string Deflated(const std::string& text, Compression compression) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED,
                         compression == Compression::kGzip ? 31 : 15, 8,
                         Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

Message InPieces(const std::string& text, size_t size) {
  Message message;
  for (size_t at = 0; at < text.size(); at += size) {
    message.Append(Bytes::FromString(text.substr(at, size)));
  }
  return message;
}

class InflateTest : public ::testing::TestWithParam<Compression> {};

TEST_P(InflateTest, GivesBackWhatWasCompressedHoweverItIsCut) {
  for (const size_t size : {0u, 1u, 65'535u, 65'536u, 65'537u, 300'000u}) {
    std::string text(size, 'x');
    for (size_t i = 0; i < size; i += 3) text[i] = char('a' + i * i % 23);
    for (const size_t cut : {1u, 7u, 100'000u}) {
      const auto back = Inflate(InPieces(Deflated(text, GetParam()), cut),
                                GetParam(), static_cast<int64_t>(size));
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(back->size(), size);
      EXPECT_EQ(back->Joined().view(), text);
    }
  }
}

TEST_P(InflateTest, StopsAtTheLimit) {
  const std::string bomb = Deflated(std::string(50 << 20, '\0'), GetParam());
  const auto result = Inflate(InPieces(bomb, 1000), GetParam(), 1 << 20);
  EXPECT_EQ(result.error().code, Code::kResourceExhausted);
}

TEST_P(InflateTest, RefusesWhatIsBrokenOrIncomplete) {
  const std::string good = Deflated(std::string(1000, 'x'), GetParam());
  for (const std::string& bad :
       {std::string(), std::string("garbage"), good.substr(0, good.size() / 2),
        good.substr(0, good.size() - 1)}) {
    const auto result = Inflate(InPieces(bad, 5), GetParam(), 1 << 20);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kInternal);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, InflateTest,
                         ::testing::Values(Compression::kGzip,
                                           Compression::kDeflate));

}  // namespace
}  // namespace casemate::rpc
