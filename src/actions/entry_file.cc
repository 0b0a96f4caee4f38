#include "actions/entry_file.h"

#include <algorithm>
#include <string_view>

#include "digest/hasher.h"
#include "store/disk_layout.h"

namespace casemate::actions {
namespace {

constexpr std::string_view kFirstLine = "casemate action result 1\n";
constexpr size_t kShardDigits = 2;
constexpr size_t kChecksumDigits = 64;
constexpr size_t kSizeDigits = 10;

// From the third line to the message.
std::string KeyPart(const ActionKey& key, size_t result_bytes) {
  std::string part(DigestFunctionName(key.action.function()));
  part += ' ';
  part += key.action.ToString();
  part += ' ';
  part += std::to_string(key.instance.size());
  part += ' ';
  const std::string size = std::to_string(result_bytes);
  part.append(kSizeDigits - std::min(kSizeDigits, size.size()), '0');
  part += size;
  part += '\n';
  part += key.instance;
  part += '\n';
  return part;
}

std::string Checksum(std::span<const std::byte> key_part,
                     std::span<const std::byte> result) {
  digest::Hasher hasher(DigestFunction::kSha256);
  hasher.Update(key_part);
  hasher.Update(result);
  return hasher.Finish().Hex();
}

}  // namespace

std::string EntryFolder(const ActionKey& key) {
  std::string path = store::kActions;
  path += '/';
  path += digest::Hash(DigestFunction::kSha256, AsBytes(key.instance)).Hex();
  path += '/';
  path += DigestFunctionName(key.action.function());
  path += '/';
  path += key.action.Hex().substr(0, kShardDigits);
  return path;
}

std::string EntryName(const ActionKey& key) {
  return key.action.Hex().substr(kShardDigits) + "-" +
         std::to_string(key.action.size());
}

std::string EntryHead(const ActionKey& key, const Bytes& result) {
  const std::string part = KeyPart(key, result.size());
  std::string head(kFirstLine);
  head += Checksum(AsBytes(part), result.span());
  head += '\n';
  head += part;
  return head;
}

std::optional<Bytes> ParseEntry(const ActionKey& key, const Bytes& file) {
  const std::string_view text = file.view();
  const size_t checked = kFirstLine.size() + kChecksumDigits + 1;
  if (text.size() < checked || !text.starts_with(kFirstLine) ||
      text[checked - 1] != '\n') {
    return std::nullopt;
  }
  const size_t key_bytes = KeyPart(key, 0).size();  // For any message.
  if (text.size() < checked + key_bytes) return std::nullopt;
  Bytes result = file.Slice(checked + key_bytes);
  const std::string part = KeyPart(key, result.size());
  if (!text.substr(checked).starts_with(part) ||
      text.substr(kFirstLine.size(), kChecksumDigits) !=
          Checksum(AsBytes(part), result.span())) {
    return std::nullopt;
  }
  return result;
}

}  // namespace casemate::actions
