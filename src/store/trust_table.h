// TrustTable: which blobs on disk have been hashed and found right.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "casemate/digest.h"
#include "files/stat.h"

namespace casemate::store {

// How a file was found to be right.
enum class Trusted : uint8_t {
  kIdentity,  // Its bytes are the blob's.
  kFrames,    // They are frames that decode to it.
  kBlocks,    // Those, and its table is right as well.
};

// Remembers a blob's hash together with its file's device, inode, size, mtime
// and ctime, as a fingerprint of 128 bits. Bounded: when it is full, a new
// entry takes the place of another, which costs hashing that one again. Safe
// from many threads.
class TrustTable {
 public:
  // `max_entries` is rounded up to what the structure can have.
  explicit TrustTable(size_t max_entries = size_t{1} << 20);

  bool Contains(const Digest& digest, const files::Stat& stat,
                Trusted as = Trusted::kIdentity) const;
  void Add(const Digest& digest, const files::Stat& stat,
           Trusted as = Trusted::kIdentity);

 private:
  struct Fingerprint {
    uint64_t low = 0;
    uint64_t high = 0;  // Both 0: a free slot.
    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  };

  // A set-associative table that doubles until it has reached its bound.
  struct Shard {
    base::Mutex mutex;
    std::vector<Fingerprint> slots GUARDED_BY(mutex);
  };
  static constexpr size_t kShards = 16;
  static constexpr size_t kWays = 8;

  static Fingerprint Of(const Digest& digest, const files::Stat& stat,
                        Trusted as);
  static Fingerprint* SetOf(std::vector<Fingerprint>& slots,
                            const Fingerprint& print);
  static bool PutIfRoom(std::vector<Fingerprint>& slots,
                        const Fingerprint& print);
  static std::vector<Fingerprint> Doubled(
      const std::vector<Fingerprint>& slots);

  const size_t max_slots_;  // Of a shard.
  mutable std::array<Shard, kShards> shards_;
};

}  // namespace casemate::store
