// MemoryStore: blobs in memory, for tests and as a tier.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <unordered_map>

#include "base/mutex.h"
#include "casemate/blob_store.h"
#include "store/partial_writes.h"

namespace casemate::store {

// Keeps the Bytes it is given by reference, and hands them out so: nothing is
// copied or hashed for a blob that is verified. Nothing is ever evicted.
class MemoryStore : public BlobStore {
 public:
  // Beyond `max_bytes` of blobs, unfinished ones included, kResourceExhausted.
  explicit MemoryStore(int64_t max_bytes = INT64_MAX);
  ~MemoryStore() override;

  Result<std::vector<Digest>> FindMissing(
      const Context& ctx, std::span<const Digest> digests) override;
  Result<std::unique_ptr<Reader>> Get(const Context& ctx, const Digest& digest,
                                      int64_t offset) override;
  Result<void> Put(const Context& ctx, const Digest& digest,
                   const Source& source) override;
  Result<std::unique_ptr<Writer>> StartWrite(const Context& ctx,
                                             const Digest& digest,
                                             std::string_view id,
                                             Encoding encoding) override;
  std::vector<Result<Blob>> GetMany(const Context& ctx,
                                    std::span<const Digest> digests) override;
  std::vector<Result<void>> PutMany(const Context& ctx,
                                    std::span<const Blob> blobs) override;
  std::optional<Result<std::unique_ptr<Reader>>> TryGet(const Digest& digest,
                                                        int64_t offset,
                                                        Accept accept) override;
  bool NeverWaits() const override { return true; }

 private:
  class Unfinished;

  // Not noexcept: so libstdc++ keeps each hash in its node. Otherwise a look-up
  // would compute it again of each node that it passes, the next one's too.
  struct KeptHash {
    size_t operator()(const Digest& digest) const { return HashValue(digest); }
  };

  // So that threads rarely meet on one lock.
  struct Shard {
    mutable base::Mutex mutex;
    std::unordered_map<Digest, Bytes, KeptHash> blobs GUARDED_BY(mutex);
  };
  static constexpr size_t kShards = 64;

  Shard& ShardOf(const Digest& digest);
  bool Has(const Digest& digest);
  Result<Bytes> Find(const Digest& digest);
  Error Full(const Digest& digest) const;
  Result<void> CheckRoom(const Digest& digest) const;

  // Room for `size` more bytes, now counted as used.
  Result<void> Reserve(const Digest& digest, int64_t size);
  void Release(int64_t size) { bytes_.fetch_sub(size); }

  // `bytes` have been verified. KeepReserved takes over the room they have.
  Result<void> Keep(const Digest& digest, Bytes bytes);
  void KeepReserved(const Digest& digest, Bytes bytes);

  const int64_t max_bytes_;
  std::atomic<int64_t> bytes_ = 0;
  std::array<Shard, kShards> shards_;
  PartialWrites partial_writes_;
};

}  // namespace casemate::store
