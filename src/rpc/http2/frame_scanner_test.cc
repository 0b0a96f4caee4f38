#include "rpc/http2/frame_scanner.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace casemate::rpc::http2 {
namespace {

constexpr uint8_t kLast = 3;

std::string Frame(uint8_t type, uint8_t stream, size_t payload) {
  const std::string head = {
      0, 0, static_cast<char>(payload), static_cast<char>(type), 0, 0,
      0, 0, static_cast<char>(stream)};
  return head + std::string(payload, '\3');
}

TEST(FrameScanner, SeesEachHeadWhereverItIsCut) {
  const std::string bytes = std::string(24, 'P') + Frame(4, 0, 0) +
                            Frame(1, 1, 30) + Frame(kLast, 5, 4) +
                            Frame(kLast, 7, 0) + Frame(0, 9, 1);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    FrameScanner scanner;
    std::vector<int> streams;
    for (size_t at = 0; at < bytes.size();) {
      at += scanner.Scan(
          std::string_view(bytes).substr(at, piece), kLast,
          [&](const FrameHead& head) { streams.push_back(head.stream_id); });
    }
    EXPECT_EQ(streams, (std::vector<int>{0, 1, 5, 7, 9})) << piece;
  }
}

TEST(FrameScanner, StopsAfterTheTypeItIsTold) {
  const std::string first = std::string(24, 'P') + Frame(kLast, 1, 4);
  const std::string bytes = first + Frame(0, 1, 1);
  FrameScanner scanner;
  const auto ignore = [](const FrameHead&) {};
  EXPECT_EQ(scanner.Scan(bytes, kLast, ignore), first.size());
  EXPECT_EQ(scanner.Scan(bytes.substr(first.size()), kLast, ignore), 10u);
}

TEST(FrameScanner, ReadsAllFields) {
  FrameScanner scanner;
  const std::string head("\x01\x02\x03\x04\x05\xff\x06\x07\x08", 9);
  scanner.Scan(std::string(24, 'P') + head, kLast, [](const FrameHead& seen) {
    EXPECT_EQ(seen.length, 0x010203u);
    EXPECT_EQ(seen.type, 4);
    EXPECT_EQ(seen.flags, 5);
    EXPECT_EQ(seen.stream_id, 0x7f060708);
  });
}

}  // namespace
}  // namespace casemate::rpc::http2
