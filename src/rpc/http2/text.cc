#include "rpc/http2/text.h"

#include <array>
#include <cstdint>

namespace casemate::rpc::http2 {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> MakeValues() {
  std::array<int8_t, 256> values{};
  for (auto& value : values) value = -1;
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
  }
  return values;
}
constexpr std::array<int8_t, 256> kValues = MakeValues();

}  // namespace

std::string ToBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  uint32_t bits = 0;
  int count = 0;  // Bits that are not out yet.
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(byte);
    for (count += 8; count >= 6; count -= 6) {
      text += kAlphabet[bits >> (count - 6) & 63];
    }
  }
  if (count > 0) text += kAlphabet[bits << (6 - count) & 63];
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 == 0) {  // Only whole groups are padded.
    if (text.ends_with('=')) text.remove_suffix(1);
    if (text.ends_with('=')) text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    const int value = kValues[static_cast<uint8_t>(letter)];
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 255);
  }
  return bytes;
}

std::string PercentEncode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char letter : text) {
    const auto byte = static_cast<uint8_t>(letter);
    if (byte >= 0x20 && byte <= 0x7e && letter != '%') {
      encoded += letter;
    } else {
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

std::optional<std::chrono::nanoseconds> ParseTimeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  int64_t value = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + (digit - '0');
  }
  switch (text.back()) {  // 99999999 hours would overflow: 10 years are enough.
    case 'H': return std::chrono::hours(std::min<int64_t>(value, 87'600));
    case 'M': return std::chrono::minutes(std::min<int64_t>(value, 5'256'000));
    case 'S': return std::chrono::seconds(value);
    case 'm': return std::chrono::milliseconds(value);
    case 'u': return std::chrono::microseconds(value);
    case 'n': return std::chrono::nanoseconds(value);
    default: return std::nullopt;
  }
}

}  // namespace casemate::rpc::http2
