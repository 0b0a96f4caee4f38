// Digest: the name of a blob, which is its hash and its size.
//
// As in the Remote Execution API (message Digest and enum DigestFunction); a
// Digest here also carries the function that made it.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "casemate/result.h"

namespace casemate {

// The numbers are those of REAPI's DigestFunction.Value.
enum class DigestFunction : uint8_t {
  kSha256 = 1,
  kSha1 = 2,
  kSha384 = 5,
  kSha512 = 6,
};

inline constexpr std::array kDigestFunctions = {
    DigestFunction::kSha256, DigestFunction::kSha1, DigestFunction::kSha384,
    DigestFunction::kSha512};

// "sha256", as in resource names and flags.
std::string_view DigestFunctionName(DigestFunction function);
std::optional<DigestFunction> ParseDigestFunction(std::string_view name);

// Bytes in a hash of this function: 32 for SHA-256.
constexpr size_t HashSize(DigestFunction function) {
  switch (function) {
    case DigestFunction::kSha1: return 20;
    case DigestFunction::kSha256: return 32;
    case DigestFunction::kSha384: return 48;
    case DigestFunction::kSha512: return 64;
  }
  return 0;
}

// A value; 80 bytes, no heap. The default is no blob's digest.
class Digest {
 public:
  static constexpr size_t kMaxHashSize = 64;

  Digest() = default;

  // `hash` must have HashSize(function) bytes, `size` must not be negative.
  Digest(DigestFunction function, std::span<const std::byte> hash,
         int64_t size);

  // From "HASH/SIZE": lowercase hex of full length, decimal size without sign
  // or leading zeros. The length of the hash tells the function (the four
  // above differ in length). kInvalidArgument names what is wrong.
  static Result<Digest> Parse(std::string_view text);

  // The same from the two fields of REAPI's message.
  static Result<Digest> FromHex(std::string_view hex, int64_t size);

  DigestFunction function() const { return function_; }
  int64_t size() const { return size_; }  // Of the blob, in bytes.
  std::span<const std::byte> hash() const {
    return {hash_.data(), HashSize(function_)};
  }

  std::string Hex() const;       // Of the hash alone.
  std::string ToString() const;  // "HASH/SIZE".

  friend bool operator==(const Digest&, const Digest&) = default;
  friend std::strong_ordering operator<=>(const Digest&,
                                          const Digest&) = default;

 private:
  int64_t size_ = 0;
  DigestFunction function_ = DigestFunction::kSha256;
  std::array<std::byte, kMaxHashSize> hash_ = {};  // Zeros behind HashSize.
};

// For hash tables. Seeded anew in each process, because digests may have been
// chosen by somebody who would like them all in one bucket.
size_t HashValue(const Digest& digest);

}  // namespace casemate

template <>
struct std::hash<casemate::Digest> {
  size_t operator()(const casemate::Digest& digest) const noexcept {
    return casemate::HashValue(digest);
  }
};
