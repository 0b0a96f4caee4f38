#include "codec/zstd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "casemate/bytes.h"

namespace casemate::codec {
namespace {

// Yields `text` in pieces of at most `piece` bytes.
class PieceReader : public Reader {
 public:
  PieceReader(std::string text, size_t piece)
      : text_(std::move(text)), piece_(piece) {}
  Result<size_t> Read(const Context&, std::span<std::byte> buffer) override {
    const size_t n = std::min({buffer.size(), piece_, text_.size() - done_});
    std::memcpy(buffer.data(), text_.data() + done_, n);
    done_ += n;
    return n;
  }
  Encoding encoding() const override { return Encoding::kZstd; }

 private:
  const std::string text_;
  const size_t piece_;
  size_t done_ = 0;
};

std::string Encoded(const std::string& text, size_t piece = SIZE_MAX) {
  Encoder encoder(static_cast<int64_t>(text.size()));
  std::string result;
  std::vector<std::byte> output(1000);
  std::span<const std::byte> left = AsBytes(text);
  while (!encoder.done()) {
    const auto input = left.first(std::min(piece, left.size()));
    const Step step =
        encoder.Encode(input, output, input.size() == left.size()).value();
    left = left.subspan(step.consumed);
    result.append(reinterpret_cast<const char*>(output.data()), step.produced);
  }
  return result;
}

Result<std::string> Decoded(const std::string& encoded, int64_t max_size,
                            size_t piece = SIZE_MAX, size_t room = 4096) {
  const auto reader = MakeDecodingReader(
      std::make_unique<PieceReader>(encoded, piece), max_size);
  std::string result;
  std::vector<std::byte> buffer(room);
  while (true) {
    const auto got = reader->Read({}, buffer);
    if (!got) return got.error();
    if (*got == 0) return result;
    result.append(reinterpret_cast<const char*>(buffer.data()), *got);
  }
}

// Compresses to about a half.
std::string Text(size_t size) {
  std::mt19937 random(7);
  std::string text(size, ' ');
  for (char& each : text) each = static_cast<char>('a' + random() % 16);
  return text;
}

TEST(Zstd, DecodesWhatItEncoded) {
  const std::string text = Text(3'000'000);
  const std::string encoded = Encoded(text, 77'777);
  EXPECT_LT(encoded.size(), text.size() * 6 / 10);
  EXPECT_EQ(Decoded(encoded, 3'000'000).value(), text);
}

TEST(Zstd, EncodesNothingAsAFrame) {
  const std::string encoded = Encoded("");
  EXPECT_FALSE(encoded.empty());
  EXPECT_EQ(Decoded(encoded, 0).value(), "");
}

TEST(Zstd, PutsTheSizeIntoTheHeader) {
  // Frame_Content_Size_flag and Single_Segment, with a size of one byte.
  EXPECT_EQ(Encoded("hello").at(4) & 0xE0, 0x20);
  EXPECT_EQ(Encoded("hello").at(5), 5);
}

TEST(Zstd, RefusesToEncodeMoreOrLessThanPledged) {
  std::vector<std::byte> output(1000);
  Encoder less(3);
  EXPECT_EQ(less.Encode(AsBytes("ab"), output, true).error().code,
            Code::kInvalidArgument);
  Encoder more(1);
  EXPECT_EQ(more.Encode(AsBytes("ab"), output, true).error().code,
            Code::kInvalidArgument);
}

TEST(Zstd, DecodesAnyNumberOfFramesAcrossAnyBorders) {
  const std::string skippable("\x50\x2a\x4d\x18\x03\0\0\0abc", 11);
  const std::string text = Text(5000);
  const std::string frames =
      Encoded("one") + Encoded("") + skippable + Encoded(text) + Encoded("two");
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{1000}, SIZE_MAX}) {
    for (const size_t room : {1u, 7u, 5006u, 100'000u}) {
      EXPECT_EQ(Decoded(frames, 5006, piece, room).value(),
                "one" + text + "two");
    }
  }
}

TEST(Zstd, FailsWhereverAStreamIsCutWithinAFrame) {
  const std::string encoded = Encoded("hello, hello, hello, hello");
  for (size_t cut = 1; cut < encoded.size(); ++cut) {
    const auto decoded = Decoded(encoded.substr(0, cut), 26);
    ASSERT_FALSE(decoded) << cut;
    EXPECT_EQ(decoded.error().code, Code::kDataLoss);
  }
}

TEST(Zstd, RefusesGarbageAlsoBehindAFrame) {
  EXPECT_EQ(Decoded("this is not zstd", 100).error().code, Code::kDataLoss);
  EXPECT_EQ(Decoded(Encoded("abc") + "garbage", 100).error().code,
            Code::kDataLoss);
}

TEST(Zstd, StopsABombAtTheAnnouncedSize) {
  const std::string bomb = Encoded(std::string(64 << 20, '\0'));
  EXPECT_LT(bomb.size(), 10'000u);
  EXPECT_EQ(Decoded(bomb, 1000).error().code, Code::kDataLoss);
  EXPECT_EQ(Decoded(bomb, 0).error().code, Code::kDataLoss);
}

TEST(Zstd, RefusesAWindowBeyond128MiB) {
  // Magic, no single segment, no size, window descriptor 2^28.
  const std::string header("\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00", 9);
  EXPECT_EQ(Decoded(header, 1000).error().code, Code::kDataLoss);
}

TEST(Zstd, ReusesContextsThatWereLeftInTheMiddle) {
  std::vector<std::byte> output(10);
  for (int i = 0; i < 20; ++i) {
    Encoder encoder(100);
    ASSERT_TRUE(encoder.Encode(AsBytes("abc"), output, false));
    Decoder decoder(100);
    ASSERT_TRUE(
        decoder.Decode(AsBytes(Encoded("abcabc").substr(0, 9)), output));
    EXPECT_FALSE(decoder.at_border());
  }
  EXPECT_EQ(Decoded(Encoded("hello"), 5).value(), "hello");
}

TEST(Zstd, ServesManyThreadsAtOnce) {
  const std::string text = Text(100'000);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      EXPECT_EQ(Decoded(Encoded(text, 999), 100'000, 777).value(), text);
    });
  }
}

}  // namespace
}  // namespace casemate::codec
