#include "reapi/server/tree_token.h"

#include <charconv>

#include "casemate/bytes.h"
#include "digest/hasher.h"

namespace casemate::reapi {
namespace {

constexpr std::string_view kVersion = "1-";
constexpr size_t kChainDigits = 32;
constexpr size_t kChecksumDigits = 16;

std::string Checksum(std::string_view body, const Digest& root) {
  std::string text = "casemate page token ";
  text += body;
  text += root.ToString();
  return digest::Hash(DigestFunction::kSha256, AsBytes(text))
      .Hex()
      .substr(0, kChecksumDigits);
}

}  // namespace

void TreeChain::Add(uint32_t number, const Digest& directory) {
  std::string text(reinterpret_cast<const char*>(value_.hash().data()),
                   value_.hash().size());
  text += std::to_string(number);
  text += ' ';
  text += directory.ToString();
  value_ = digest::Hash(DigestFunction::kSha256, AsBytes(text));
}

std::string TreeToken::Format(const Digest& root) const {
  std::string token(kVersion);
  token += std::to_string(next);
  token += '-';
  token += chain;
  token += '-';
  return token + Checksum(token, root);
}

std::optional<TreeToken> TreeToken::Parse(std::string_view text,
                                          const Digest& root) {
  constexpr size_t kTail = kChainDigits + 1 + kChecksumDigits;
  if (!text.starts_with(kVersion) || text.size() < kVersion.size() + kTail) {
    return std::nullopt;
  }
  TreeToken token;
  const char* const begin = text.data() + kVersion.size();
  const auto [end, error] =
      std::from_chars(begin, text.data() + text.size(), token.next);
  if (error != std::errc() ||
      static_cast<size_t>(text.data() + text.size() - end) != kTail + 1) {
    return std::nullopt;
  }
  token.chain = std::string(end + 1, kChainDigits);
  if (token.Format(root) != text) return std::nullopt;
  return token;
}

}  // namespace casemate::reapi
