#include "store/trust_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

namespace casemate::store {
namespace {

constexpr size_t kFirstSlots = 64;

// The finaliser of 64-bit hashes: every bit of `value` sways every bit.
uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93;
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93;
  return value ^ (value >> 32);
}

}  // namespace

TrustTable::TrustTable(size_t max_entries)
    : max_slots_(std::max(kFirstSlots, std::bit_ceil(max_entries / kShards))) {}

bool TrustTable::Contains(const Digest& digest, const files::Stat& stat,
                          Trusted as) const {
  const Fingerprint print = Of(digest, stat, as);
  Shard& shard = shards_[print.high % kShards];
  base::MutexLock lock(shard.mutex);
  if (shard.slots.empty()) return false;
  const Fingerprint* const set = SetOf(shard.slots, print);
  return std::find(set, set + kWays, print) != set + kWays;
}

void TrustTable::Add(const Digest& digest, const files::Stat& stat,
                     Trusted as) {
  const Fingerprint print = Of(digest, stat, as);
  Shard& shard = shards_[print.high % kShards];
  base::MutexLock lock(shard.mutex);
  if (shard.slots.empty()) shard.slots.resize(kFirstSlots);
  while (!PutIfRoom(shard.slots, print)) {
    if (shard.slots.size() < max_slots_) {
      shard.slots = Doubled(shard.slots);
    } else {
      SetOf(shard.slots, print)[print.high / kShards % kWays] = print;
    }
  }
}

TrustTable::Fingerprint TrustTable::Of(const Digest& digest,
                                       const files::Stat& stat, Trusted as) {
  // The size of an identity blob is that of its file.
  const uint64_t size =
      as == Trusted::kIdentity ? 0 : static_cast<uint64_t>(digest.size());
  Fingerprint print;
  static_assert(sizeof print == 16);
  std::memcpy(&print, digest.hash().data(), sizeof print);
  for (const uint64_t each :
       {stat.device, stat.inode, static_cast<uint64_t>(stat.size),
        static_cast<uint64_t>(stat.mtime), static_cast<uint64_t>(stat.ctime),
        size, static_cast<uint64_t>(as)}) {
    print.low = Mix(print.low ^ each);
    print.high = Mix(print.high + each);
  }
  if (print == Fingerprint()) print.low = 1;
  return print;
}

// Where `print` belongs: the first of kWays slots.
TrustTable::Fingerprint* TrustTable::SetOf(std::vector<Fingerprint>& slots,
                                           const Fingerprint& print) {
  return &slots[print.low % (slots.size() / kWays) * kWays];
}

bool TrustTable::PutIfRoom(std::vector<Fingerprint>& slots,
                           const Fingerprint& print) {
  Fingerprint* const set = SetOf(slots, print);
  for (Fingerprint& slot : std::span(set, kWays)) {
    if (slot == print || slot == Fingerprint()) {
      slot = print;
      return true;
    }
  }
  return false;
}

std::vector<TrustTable::Fingerprint> TrustTable::Doubled(
    const std::vector<Fingerprint>& slots) {
  std::vector<Fingerprint> doubled(2 * slots.size());
  for (const Fingerprint& slot : slots) {
    // Always room: a set splits into two of its own.
    if (slot != Fingerprint()) PutIfRoom(doubled, slot);
  }
  return doubled;
}

}  // namespace casemate::store
