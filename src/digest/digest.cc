#include "casemate/digest.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <random>

#include "base/check.h"
#include "base/try.h"

namespace casemate {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

std::optional<DigestFunction> FunctionOfHexLength(size_t length) {
  for (const DigestFunction function : kDigestFunctions) {
    if (HashSize(function) * 2 == length) return function;
  }
  return std::nullopt;
}

// 16 for anything that is not a lowercase hex digit. A table, because branches
// on random digits cost five times as much, for each digest of a tree.
constexpr std::array<uint8_t, 256> kHexValues = [] {
  std::array<uint8_t, 256> values;
  values.fill(16);
  for (size_t value = 0; value < kHexDigits.size(); ++value) {
    values[static_cast<unsigned char>(kHexDigits[value])] =
        static_cast<uint8_t>(value);
  }
  return values;
}();

unsigned HexValue(char digit) {
  return kHexValues[static_cast<unsigned char>(digit)];
}

uint64_t RandomSeed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// Both halves of the product, folded.
uint64_t Mix(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

Error Malformed(std::string_view text, std::string_view why) {
  return {Code::kInvalidArgument, "not a digest: \"" +
                                      std::string(text.substr(0, 160)) +
                                      "\": " + std::string(why)};
}

}  // namespace

std::string_view DigestFunctionName(DigestFunction function) {
  switch (function) {
    case DigestFunction::kSha1: return "sha1";
    case DigestFunction::kSha256: return "sha256";
    case DigestFunction::kSha384: return "sha384";
    case DigestFunction::kSha512: return "sha512";
  }
  return "unknown";
}

std::optional<DigestFunction> ParseDigestFunction(std::string_view name) {
  for (const DigestFunction function : kDigestFunctions) {
    if (DigestFunctionName(function) == name) return function;
  }
  return std::nullopt;
}

Digest::Digest(DigestFunction function, std::span<const std::byte> hash,
               int64_t size)
    : size_(size), function_(function) {
  CASEMATE_CHECK(hash.size() == HashSize(function) && size >= 0);
  std::ranges::copy(hash, hash_.begin());
}

Result<Digest> Digest::FromHex(std::string_view hex, int64_t size) {
  const auto function = FunctionOfHexLength(hex.size());
  if (!function) {
    return Malformed(hex, "the hash has " + std::to_string(hex.size()) +
                              " digits, which fits no digest function");
  }
  if (size < 0) return Malformed(hex, "its size is negative");
  std::array<std::byte, kMaxHashSize> hash;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const unsigned high = HexValue(hex[i]);
    const unsigned low = HexValue(hex[i + 1]);
    if (high > 15 || low > 15) {
      return Malformed(hex, "the hash must be lowercase hex");
    }
    hash[i / 2] = static_cast<std::byte>(high << 4 | low);
  }
  return Digest(*function, std::span(hash).first(hex.size() / 2), size);
}

Result<Digest> Digest::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return Malformed(text, "it should look like HASH/SIZE");
  }
  const std::string_view number = text.substr(slash + 1);
  int64_t size = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), size);
  const bool canonical = !number.empty() && number[0] != '-' &&
                         (number[0] != '0' || number.size() == 1);
  if (error != std::errc() || end != number.data() + number.size() ||
      !canonical) {
    return Malformed(text, "the size must be a decimal number of bytes");
  }
  return FromHex(text.substr(0, slash), size);
}

std::string Digest::Hex() const {
  std::string hex;
  hex.reserve(hash().size() * 2);
  for (const std::byte each : hash()) {
    const auto value = std::to_integer<unsigned>(each);
    hex += kHexDigits[value >> 4];
    hex += kHexDigits[value & 15];
  }
  return hex;
}

std::string Digest::ToString() const {
  return Hex() + "/" + std::to_string(size_);
}

size_t HashValue(const Digest& digest) {
  static const uint64_t seed = RandomSeed();
  uint64_t value = seed ^ static_cast<uint64_t>(digest.size());
  for (auto rest = digest.hash(); !rest.empty();) {
    uint64_t word = 0;
    const size_t length = std::min(rest.size(), sizeof word);
    std::memcpy(&word, rest.data(), length);
    rest = rest.subspan(length);
    value = Mix(value ^ word, seed | 0x9E3779B97F4A7C15);
  }
  return value;
}

}  // namespace casemate
