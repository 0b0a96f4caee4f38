// Names in a disk store's folder; see docs/formats/disk-store.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/digest.h"
#include "casemate/io.h"
#include "files/root.h"

namespace casemate::store {

inline constexpr char kVersionFile[] = "VERSION";
inline constexpr char kLockFile[] = "lock";
inline constexpr char kUsageFile[] = "usage";
inline constexpr char kServerFile[] = "server";
inline constexpr char kZstdMarker[] = "zstd";
inline constexpr char kBlobs[] = "cas";
inline constexpr char kTemporary[] = "tmp";
inline constexpr char kDamaged[] = "damaged";
inline constexpr char kActions[] = "ac";  // The business of actions/.
inline constexpr char kInstances[] = "instances";  // Stores within (assemble/).

// Blobs of up to this many bytes are never kept as zstd: on disk a block is the
// least.
inline constexpr int64_t kDiskBlock = 4096;

// Where a blob lies, in the form that is kept of it. On the stack, because each
// lookup needs one.
class BlobPath {
 public:
  explicit BlobPath(const Digest& digest, Encoding form = Encoding::kIdentity);

  std::string_view path() const { return {text_.data(), size_}; }
  std::string_view shard() const { return path().substr(0, shard_size_); }
  std::string_view name() const { return path().substr(shard_size_ + 1); }

 private:
  void Append(std::string_view text);

  std::array<char, 200> text_;  // "cas/sha256/ab/…"
  size_t size_ = 0;
  size_t shard_size_ = 0;
};

// What a file of that form is called once it was moved aside: "sha256-…".
std::string DamagedName(const Digest& digest, Encoding form);
bool IsDamagedName(std::string_view name);

// Whether it is two lowercase hex digits.
bool IsShardName(std::string_view name);

// What a file's name says of it. Under the name of an identity blob its digest
// gets `size`, the file's own. nullopt if the name is none of ours.
struct NamedBlob {
  Digest digest;
  Encoding form = Encoding::kIdentity;
};
std::optional<NamedBlob> ParseFileName(DigestFunction function,
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

  // Whether blobs may be kept as zstd here. Looks at most once.
  bool MayHoldZstd();

 private:
  const files::Root& root_;
  std::string path_;
  std::optional<files::Directory> shard_;
  std::optional<bool> may_hold_zstd_;
};

}  // namespace casemate::store
