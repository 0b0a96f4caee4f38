// What the tests of hand-written messages share.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/bytes.h"
#include "casemate/digest.h"

namespace casemate::reapi::testing {

// `text` cut into pieces of random length, empty ones among them.
std::vector<Bytes> CutAtRandom(const std::string& text, std::mt19937& random);

// In two pieces, cut at `at`.
std::vector<Bytes> CutAt(const std::string& text, size_t at);

std::string Join(const std::vector<Bytes>& pieces);

// Bytes of any value, at most `most` of them.
std::string RandomBytes(std::mt19937& random, size_t most);

// SHA-256 of something, of any size.
Digest RandomDigest(std::mt19937& random);

// Fields that no message here knows: a varint, a string, both fixed ones, and a
// group with another inside.
std::string UnknownFields();

// 0 to `most`.
inline size_t Below(std::mt19937& random, size_t most) {
  return std::uniform_int_distribution<size_t>(0, most)(random);
}

}  // namespace casemate::reapi::testing
