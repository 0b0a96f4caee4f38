#include "rpc/http2/deframer.h"

#include <gtest/gtest.h>

#include "rpc/http2/for_test.h"
#include "rpc/http2/incoming.h"

namespace casemate::rpc::http2 {
namespace {

constexpr int64_t kLimit = int64_t{64} << 20;

std::string Deflated(const std::string& text, int window) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}
std::string Gzipped(const std::string& text) { return Deflated(text, 31); }

// Feeds `bytes` in pieces of that size; all messages that come out.
Result<std::vector<std::string>> Cut(Deframer deframer, std::string_view bytes,
                                     size_t piece) {
  std::vector<std::string> messages;
  while (!bytes.empty()) {
    auto taken = deframer.Take(bytes.substr(0, piece));
    if (!taken) return taken.error();
    bytes.remove_prefix(*taken);
    if (deframer.ready()) {
      messages.emplace_back(deframer.Pop().Joined().view());
    }
  }
  if (!deframer.at_border()) messages.emplace_back("(cut)");
  return messages;
}

TEST(Deframer, G10_BordersMayBeAnywhere) {
  const std::vector<std::string> messages = {"one", "", "three", "",
                                             std::string(300, 'x')};
  std::string bytes;
  for (const std::string& each : messages) bytes += Framed(each);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    const auto cut = Cut({Coding::kIdentity, kLimit}, bytes, piece);
    ASSERT_TRUE(cut);
    EXPECT_EQ(*cut, messages) << piece;
  }
}

TEST(Deframer, G10_AMessageIsOnePieceHoweverItCame) {
  const std::string bytes = Framed(std::string(100'000, 'x'));
  Deframer deframer(Coding::kIdentity, kLimit);
  for (size_t at = 0; at < bytes.size(); at += 1000) {
    ASSERT_TRUE(deframer.Take(std::string_view(bytes).substr(at, 1000)));
  }
  EXPECT_EQ(deframer.Pop().pieces().size(), 1u);
}

TEST(Deframer, G11_AFlagAboveOneIsInternal) {
  const auto cut = Cut({Coding::kGzip, kLimit}, Framed("x", 2), 100);
  EXPECT_EQ(cut.error().code, Code::kInternal);
}

TEST(Deframer, G11_CompressedWithoutACodingIsInternal) {
  const auto cut = Cut({Coding::kIdentity, kLimit}, Framed("x", 1), 100);
  EXPECT_EQ(cut.error().code, Code::kInternal);
}

TEST(Deframer, G12_TheLimitIsDecidedFromThePrefix) {
  Deframer deframer(Coding::kIdentity, 10);
  EXPECT_EQ(
      deframer.Take(Framed(std::string(11, 'x')).substr(0, 5)).error().code,
      Code::kResourceExhausted);
  EXPECT_EQ(deframer.allocated(), 0u);
  EXPECT_TRUE(Cut({Coding::kIdentity, 10}, Framed("0123456789"), 3));
}

TEST(Deframer, G12_ALengthOfFourGigabytesIsOnlyANumber) {
  Deframer deframer(Coding::kIdentity, kLimit);
  EXPECT_EQ(deframer.Take(std::string("\0\xff\xff\xff\xff", 5)).error().code,
            Code::kResourceExhausted);
}

TEST(Deframer, G12_MemoryGrowsAsTheBytesCome) {
  Deframer deframer(Coding::kIdentity, kLimit);
  const std::string bytes = Framed(std::string(20 << 20, 'x'));
  size_t fed = 0;
  for (size_t at = 0; at + 1 < bytes.size(); at += 50'000) {
    const auto part =
        std::string_view(bytes).substr(0, bytes.size() - 1).substr(at, 50'000);
    ASSERT_TRUE(deframer.Take(part));
    fed += part.size();
    EXPECT_LE(deframer.allocated(),
              std::max(Deframer::kAtOnce, Deframer::kGrowth * fed));
  }
  ASSERT_TRUE(deframer.Take("x"));
  EXPECT_EQ(deframer.Pop().Joined().view(), bytes.substr(5));
}

TEST(Inflater, G06_GzipAndDeflateAtAnyBorder) {
  std::string text;
  for (int i = 0; text.size() < 20'000; ++i) text += std::to_string(i);
  for (const auto& [coding, packed] :
       {std::pair(Coding::kGzip, Gzipped(text)),
        std::pair(Coding::kDeflate, Deflated(text, 15))}) {
    const std::string bytes = Framed(packed, 1) + Framed("plain");
    for (const size_t piece : {size_t{1}, size_t{7}, bytes.size()}) {
      const auto cut = Cut({coding, kLimit}, bytes, piece);
      ASSERT_TRUE(cut) << cut.error().message;
      EXPECT_EQ(*cut, (std::vector<std::string>{text, "plain"}));
    }
  }
}

TEST(Inflater, G06_AnEmptyMessageMayBeCompressed) {
  const auto cut = Cut({Coding::kGzip, kLimit}, Framed(Gzipped(""), 1), 99);
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_EQ(*cut, std::vector<std::string>{""});
}

TEST(Inflater, G12_ABombStopsAtTheLimit) {
  const std::string bomb = Framed(Gzipped(std::string(50 << 20, '\0')), 1);
  ASSERT_LT(bomb.size(), 100'000u);
  const auto cut = Cut({Coding::kGzip, 1 << 20}, bomb, 1000);
  EXPECT_EQ(cut.error().code, Code::kResourceExhausted);
}

TEST(Inflater, G12_ExactlyTheLimitPasses) {
  const std::string text(1 << 16, 'x');
  EXPECT_TRUE(Cut({Coding::kGzip, 1 << 16}, Framed(Gzipped(text), 1), 500));
  EXPECT_FALSE(
      Cut({Coding::kGzip, (1 << 16) - 1}, Framed(Gzipped(text), 1), 500));
}

TEST(Inflater, G11_WhatIsDamagedIsInternal) {
  const std::string good = Gzipped(std::string(500, 'x') + "abc");
  std::string damaged = good;
  damaged[good.size() - 6] ^= 1;  // In the checksum.
  for (const std::string& each :
       {damaged, good.substr(0, good.size() - 1), good + "x",
        std::string("plain"), std::string()}) {
    const auto cut = Cut({Coding::kGzip, kLimit}, Framed(each, 1), 100);
    ASSERT_FALSE(cut) << each.size();
    EXPECT_EQ(cut.error().code, Code::kInternal);
  }
}

TEST(Incoming, G22_AMessageIsCreditedWhenItIsTaken) {
  Incoming incoming(Coding::kIdentity, kLimit);
  ASSERT_TRUE(incoming.Add(Framed("hello") + Framed("wor")));
  EXPECT_EQ(incoming.TakeCredit(false), 0u);
  EXPECT_EQ((*incoming.Next())->Joined().view(), "hello");
  EXPECT_EQ(incoming.TakeCredit(false), 10u);
  EXPECT_EQ(incoming.held(), 8u);
}

TEST(Incoming, G22_WhoWaitsTakesTheBytesAsTheyCome) {
  Incoming incoming(Coding::kIdentity, kLimit);
  const std::string bytes = Framed(std::string(100, 'x'));
  ASSERT_TRUE(incoming.Add(bytes.substr(0, 50)));
  EXPECT_EQ(incoming.TakeCredit(false), 0u);
  EXPECT_EQ(incoming.TakeCredit(true), 50u);
  ASSERT_TRUE(incoming.Add(bytes.substr(50)));
  EXPECT_EQ(incoming.TakeCredit(true), 0u);  // It is complete, and not taken.
  ASSERT_TRUE(*incoming.Next());
  EXPECT_EQ(incoming.TakeCredit(false), 55u);
  EXPECT_EQ(incoming.held(), 0u);
}

TEST(Incoming, ManyTinyMessagesComeOutInTheirOrder) {
  Incoming incoming(Coding::kIdentity, kLimit);
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += Framed(std::to_string(i));
  const size_t size = bytes.size();
  for (; !bytes.empty(); bytes.erase(0, 7)) {
    ASSERT_TRUE(incoming.Add(std::string_view(bytes).substr(0, 7)));
  }
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ((*incoming.Next())->Joined().view(), std::to_string(i));
  }
  EXPECT_FALSE(*incoming.Next());
  EXPECT_TRUE(incoming.at_border());
  EXPECT_EQ(incoming.TakeCredit(false), size);
}

TEST(Incoming, GivesBackAllThatWasNotTaken) {
  Incoming incoming(Coding::kIdentity, kLimit);
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += Framed("abc");
  ASSERT_TRUE(incoming.Add(bytes + "\1"));
  ASSERT_TRUE(*incoming.Next());
  EXPECT_EQ(incoming.TakeCredit(false), 8u);
  EXPECT_EQ(incoming.Abandon(), bytes.size() + 1 - 8);
  EXPECT_EQ(incoming.held(), 0u);
}

}  // namespace
}  // namespace casemate::rpc::http2
