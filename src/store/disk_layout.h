// Names in a disk store's folder; see docs/formats/disk-store.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/digest.h"
#include "files/root.h"

namespace casemate::store {

inline constexpr char kVersionFile[] = "VERSION";
inline constexpr char kLockFile[] = "lock";
inline constexpr char kUsageFile[] = "usage";
inline constexpr char kBlobs[] = "cas";
inline constexpr char kTemporary[] = "tmp";
inline constexpr char kDamaged[] = "damaged";

std::string ShardPath(const Digest& digest);    // "cas/sha256/ab"
std::string FileName(const Digest& digest);     // The rest of the hash.
std::string DamagedName(const Digest& digest);  // "sha256-…"
bool IsDamagedName(std::string_view name);

// Whether it is two lowercase hex digits.
bool IsShardName(std::string_view name);

// The digest of a file of `size` bytes under that name; nullopt if the name is
// none of ours.
std::optional<Digest> ParseFileName(DigestFunction function,
                                    std::string_view shard,
                                    std::string_view name, int64_t size);

// The order in which blobs lie on disk: those of one shard together.
bool LiesBefore(const Digest& a, const Digest& b);

// Indices of `digests` in that order; equal ones in the order given.
std::vector<size_t> DiskOrder(std::span<const Digest> digests);

// The shards of a list of blobs in disk order, each opened once. One thread.
class ShardCursor {
 public:
  explicit ShardCursor(const files::Root& root) : root_(root) {}

  // The blob's shard, valid until the next call. kNotFound if there is none.
  Result<const files::Directory*> Open(const Digest& digest);

  // The same, making it if it is not there.
  Result<const files::Directory*> Make(const Digest& digest);

 private:
  const files::Root& root_;
  std::string path_;
  std::optional<files::Directory> shard_;
};

}  // namespace casemate::store
