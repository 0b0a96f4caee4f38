// zstd from a peer: bounded output, whatever the cuts, and no crash.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "codec/zstd.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kMost = 1 << 16;
  casemate::codec::Decoder decoder(kMost);
  std::array<std::byte, 4096> output;
  auto input = std::as_bytes(std::span(data, size));
  int64_t total = 0;
  for (size_t steps = 0; steps < 2 * size + 64; ++steps) {
    // In pieces, as from a wire.
    const auto piece = input.first(std::min<size_t>(input.size(), 7));
    const auto step = decoder.Decode(piece, output);
    if (!step) return 0;
    CASEMATE_CHECK(step->consumed <= piece.size());
    input = input.subspan(step->consumed);
    total += static_cast<int64_t>(step->produced);
    CASEMATE_CHECK(total <= kMost);
    if (input.empty() && step->produced == 0) return 0;
  }
  return 0;
}
