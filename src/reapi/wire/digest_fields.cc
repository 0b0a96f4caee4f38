#include "reapi/wire/digest_fields.h"

#include <algorithm>

#include "base/try.h"
#include "reapi/wire/choices.h"

namespace casemate::reapi {
namespace {

// By the numbers of DigestFunction.Value.
constexpr std::array<std::string_view, 11> kFunctionNames = {
    "",       "sha256",  "sha1",       "md5",    "vso",    "sha384",
    "sha512", "murmur3", "sha256tree", "blake3", "gitsha1"};

std::optional<DigestFunction> OfNumber(int64_t number) {
  for (const DigestFunction function : kDigestFunctions) {
    if (static_cast<int64_t>(function) == number) return function;
  }
  return std::nullopt;
}

// 0x80 and above for what is no lowercase hex digit.
constexpr std::array<uint8_t, 256> kHexValues = [] {
  std::array<uint8_t, 256> values;
  values.fill(0xFF);
  for (uint8_t i = 0; i < 16; ++i) {
    values[static_cast<uint8_t>("0123456789abcdef"[i])] = i;
  }
  return values;
}();

uint8_t HexValue(char digit) { return kHexValues[static_cast<uint8_t>(digit)]; }

// Without a branch on each digit. False if any is none.
bool DecodeHex(std::string_view hex, std::byte* out) {
  unsigned seen = 0;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const unsigned high = HexValue(hex[i]);
    const unsigned low = HexValue(hex[i + 1]);
    seen |= high | low;
    *out++ = static_cast<std::byte>(high << 4 | low);
  }
  return seen < 0x80;
}

std::optional<DigestFunction> OfHexSize(size_t size) {
  for (const DigestFunction function : kDigestFunctions) {
    if (HashSize(function) * 2 == size) return function;
  }
  return std::nullopt;
}

void AppendHex(std::string& out, std::span<const std::byte> hash) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::array<char, Digest::kMaxHashSize * 2> hex;
  char* end = hex.data();
  for (const std::byte each : hash) {
    const auto value = std::to_integer<unsigned>(each);
    *end++ = kHexDigits[value >> 4];
    *end++ = kHexDigits[value & 15];
  }
  out.append(hex.data(), hash.size() * 2);
}

}  // namespace

std::string_view FunctionName(int64_t number) {
  if (number < 0 || number >= std::ssize(kFunctionNames)) return "";
  return kFunctionNames[static_cast<size_t>(number)];
}

bool IsFunctionName(std::string_view segment) {
  return !segment.empty() &&
         std::ranges::find(kFunctionNames, segment) != kFunctionNames.end();
}

bool DigestField::Merge(FieldReader message) {
  present_ = true;
  while (message.Next()) {
    if (message.Is(1, WireType::kBytes)) {
      hex_size_ = message.length();
      message.CopyTo(hex_);
    } else if (message.Is(2, WireType::kVarint)) {
      size_ = message.Int64();
    }
  }
  return message.ok();
}

Result<Digest> DigestField::Get() const {
  if (!present_) return Error{kMalformed, "not a digest: there is none"};
  if (hex_size_ > hex_.size()) {
    return Error{kMalformed, "not a digest: a hash of " +
                                 std::to_string(hex_size_) + " digits"};
  }
  const std::string_view hex(hex_.data(), hex_size_);
  const auto function = OfHexSize(hex_size_);
  std::array<std::byte, Digest::kMaxHashSize> hash;
  if (function && size_ >= 0 && DecodeHex(hex, hash.data())) {
    return Digest(*function, std::span(hash).first(hex_size_ / 2), size_);
  }
  return Digest::FromHex(hex, size_);  // Knows what is wrong with it.
}

Result<FunctionCheck> FunctionCheck::Start(int64_t number) {
  FunctionCheck check;
  if (number == 0) return check;
  check.function_ = OfNumber(number);
  check.stated_ = true;
  if (check.function_) return check;
  const std::string_view name = FunctionName(number);
  return Error{kUnknownFunction,
               "digest function " +
                   (name.empty() ? std::to_string(number) : std::string(name)) +
                   " is not one of this server's"};
}

Result<void> FunctionCheck::Check(const Digest& digest) {
  if (!function_) function_ = digest.function();
  if (digest.function() == *function_) return {};
  return Error{
      kUnknownFunction,
      "digest " + digest.ToString() +
          (stated_ ? " does not fit the stated digest function "
                   : " is of another digest function than the first, ") +
          std::string(DigestFunctionName(*function_))};
}

size_t DigestSize(const Digest& digest) {
  const size_t hex = digest.hash().size() * 2;
  const auto size = static_cast<uint64_t>(digest.size());
  return 1 + VarintSize(hex) + hex + (size == 0 ? 0 : 1 + VarintSize(size));
}

void AppendDigestField(std::string& out, uint32_t number,
                       const Digest& digest) {
  AppendBytesHead(out, number, DigestSize(digest));
  AppendBytesHead(out, 1, digest.hash().size() * 2);
  AppendHex(out, digest.hash());
  if (digest.size() != 0) {
    AppendVarintField(out, 2, static_cast<uint64_t>(digest.size()));
  }
}

}  // namespace casemate::reapi
