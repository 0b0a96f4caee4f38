#include "reapi/wire/for_test.h"

#include "digest/hasher.h"

namespace casemate::reapi::testing {

std::vector<Bytes> CutAtRandom(const std::string& text, std::mt19937& random) {
  std::vector<Bytes> pieces;
  for (size_t at = 0; at < text.size();) {
    const size_t size =
        std::min(Below(random, 1 + Below(random, 40)), text.size() - at);
    pieces.push_back(Bytes::FromString(text.substr(at, size)));
    at += size;
  }
  return pieces;
}

std::vector<Bytes> CutAt(const std::string& text, size_t at) {
  at = std::min(at, text.size());
  return {Bytes::FromString(text.substr(0, at)),
          Bytes::FromString(text.substr(at))};
}

std::string Join(const std::vector<Bytes>& pieces) {
  std::string text;
  for (const Bytes& piece : pieces) text += piece.view();
  return text;
}

std::string RandomBytes(std::mt19937& random, size_t most) {
  std::string text(Below(random, most), '\0');
  for (char& each : text) each = static_cast<char>(random());
  return text;
}

Digest RandomDigest(std::mt19937& random) {
  const Digest some =
      digest::Hash(DigestFunction::kSha256, AsBytes(RandomBytes(random, 20)));
  const auto size = static_cast<int64_t>(Below(random, size_t{1} << 40));
  return {some.function(), some.hash(), random() % 8 == 0 ? 0 : size};
}

std::string UnknownFields() {
  using namespace std::string_literals;
  return "\xA0\x3E\x07"s  // 1000: varint 7.
         "\xA2\x3E\x03"
         "abc"s  // 1000: bytes.
         "\xA5\x3E"
         "1234"s  // 1000: fixed32.
         "\xA1\x3E"
         "12345678"s                           // 1000: fixed64.
         "\xA3\x3E\x2B\x30\x01\x2C\xA4\x3E"s;  // 1000: group { 5: group {6: 1}
                                               // }
}

}  // namespace casemate::reapi::testing
