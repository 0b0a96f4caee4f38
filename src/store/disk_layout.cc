#include "store/disk_layout.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/try.h"

namespace casemate::store {
namespace {

constexpr size_t kShardDigits = 2;
constexpr uint32_t kFolderMode = 0777;  // Less the umask.
constexpr std::string_view kZstdEnding = ".zst";

// Of ".1234567.zst"; nullopt unless BlobPath could have written it.
std::optional<int64_t> ParseSize(std::string_view text) {
  int64_t size = 0;
  const char* const begin = text.data() + 1;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(begin, end, size);
  const bool right = parsed.ec == std::errc() && size > kDiskBlock &&
                     *begin != '0' &&
                     std::string_view(parsed.ptr, end) == kZstdEnding;
  return right ? std::optional(size) : std::nullopt;
}

}  // namespace

BlobPath::BlobPath(const Digest& digest, Encoding form) {
  constexpr char kDigits[] = "0123456789abcdef";
  Append(kBlobs);
  Append("/");
  Append(DigestFunctionName(digest.function()));
  Append("/");
  for (const std::byte each : digest.hash()) {
    text_[size_++] = kDigits[std::to_integer<unsigned>(each >> 4)];
    text_[size_++] = kDigits[std::to_integer<unsigned>(each & std::byte{15})];
    if (shard_size_ == 0) {
      shard_size_ = size_;
      Append("/");
    }
  }
  if (form == Encoding::kIdentity) return;
  Append(".");
  const auto end = std::to_chars(text_.data() + size_,
                                 text_.data() + text_.size(), digest.size());
  size_ = static_cast<size_t>(end.ptr - text_.data());
  Append(kZstdEnding);
}

void BlobPath::Append(std::string_view text) {
  std::memcpy(text_.data() + size_, text.data(), text.size());
  size_ += text.size();
}

std::string DamagedName(const Digest& digest, Encoding form) {
  const BlobPath path(digest, form);
  return std::string(DigestFunctionName(digest.function())) + "-" +
         digest.Hex().substr(0, kShardDigits) + std::string(path.name());
}

bool IsDamagedName(std::string_view name) {
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos) return false;
  const auto function = ParseDigestFunction(name.substr(0, dash));
  const std::string_view rest = name.substr(dash + 1);
  if (!function || rest.size() < kShardDigits) return false;
  const std::string_view shard = rest.substr(0, kShardDigits);
  return ParseFileName(*function, shard, rest.substr(kShardDigits), 0)
      .has_value();
}

bool IsShardName(std::string_view name) {
  return name.size() == kShardDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<NamedBlob> ParseFileName(DigestFunction function,
                                       std::string_view shard,
                                       std::string_view name, int64_t size) {
  NamedBlob blob;
  const size_t dot = name.find('.');
  if (dot != std::string_view::npos) {
    const auto named = ParseSize(name.substr(dot));
    if (!named) return {};
    blob.form = Encoding::kZstd;
    size = *named;
    name = name.substr(0, dot);
  }
  if (shard.size() + name.size() != 2 * HashSize(function)) return {};
  auto digest = Digest::FromHex(std::string(shard).append(name), size);
  if (!digest) return {};
  blob.digest = *digest;
  return blob;
}

bool LiesBefore(const Digest& a, const Digest& b) {
  if (a.function() != b.function()) return a.function() < b.function();
  const int order =
      std::memcmp(a.hash().data(), b.hash().data(), a.hash().size());
  return order != 0 ? order < 0 : a.size() < b.size();
}

std::vector<size_t> DiskOrder(std::span<const Digest> digests) {
  std::vector<size_t> order(digests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return LiesBefore(digests[a], digests[b]);
  });
  return order;
}

Result<const files::Directory*> ShardCursor::Open(const Digest& digest) {
  const BlobPath path(digest);
  if (shard_ && path.shard() == path_) return &*shard_;
  shard_.reset();
  ASSIGN_OR_RETURN(files::Directory shard, root_.OpenDirectory(path.shard()));
  shard_ = std::move(shard);
  path_ = path.shard();
  return &*shard_;
}

Result<const files::Directory*> ShardCursor::Make(const Digest& digest) {
  auto shard = Open(digest);
  if (shard || shard.error().code != Code::kNotFound) return shard;
  const BlobPath path(digest);
  RETURN_IF_ERROR(root_.MakeDirectories(path.shard(), kFolderMode));
  return Open(digest);
}

bool ShardCursor::MayHoldZstd() {
  if (!may_hold_zstd_) {
    const auto marker = root_.StatPath(kZstdMarker);
    may_hold_zstd_ = marker || marker.error().code != Code::kNotFound;
  }
  return *may_hold_zstd_;
}

}  // namespace casemate::store
