#include "store/disk_layout.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/try.h"

namespace casemate::store {
namespace {

constexpr size_t kShardDigits = 2;
constexpr uint32_t kFolderMode = 0777;  // Less the umask.

}  // namespace

std::string ShardPath(const Digest& digest) {
  std::string path = kBlobs;
  path += '/';
  path += DigestFunctionName(digest.function());
  path += '/';
  path += digest.Hex().substr(0, kShardDigits);
  return path;
}

std::string FileName(const Digest& digest) {
  return digest.Hex().substr(kShardDigits);
}

std::string DamagedName(const Digest& digest) {
  return std::string(DigestFunctionName(digest.function())) + "-" +
         digest.Hex();
}

bool IsDamagedName(std::string_view name) {
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos) return false;
  const auto digest = Digest::FromHex(name.substr(dash + 1), 0);
  return digest && name == DamagedName(*digest);
}

bool IsShardName(std::string_view name) {
  return name.size() == kShardDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<Digest> ParseFileName(DigestFunction function,
                                    std::string_view shard,
                                    std::string_view name, int64_t size) {
  if (shard.size() + name.size() != 2 * HashSize(function)) return {};
  auto digest = Digest::FromHex(std::string(shard).append(name), size);
  if (!digest) return {};
  return *digest;
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
  std::string path = ShardPath(digest);
  if (shard_ && path == path_) return &*shard_;
  shard_.reset();
  ASSIGN_OR_RETURN(files::Directory shard, root_.OpenDirectory(path));
  shard_ = std::move(shard);
  path_ = std::move(path);
  return &*shard_;
}

Result<const files::Directory*> ShardCursor::Make(const Digest& digest) {
  auto shard = Open(digest);
  if (shard || shard.error().code != Code::kNotFound) return shard;
  RETURN_IF_ERROR(root_.MakeDirectories(ShardPath(digest), kFolderMode));
  return Open(digest);
}

}  // namespace casemate::store
