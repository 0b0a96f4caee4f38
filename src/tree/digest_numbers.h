// DigestNumbers: gives distinct digests numbers, 0, 1, 2, …
#pragma once

#include <cstdint>
#include <vector>

#include "casemate/digest.h"

namespace casemate::tree {

// Eight bytes or so a digest: the digests themselves stay with the caller.
class DigestNumbers {
 public:
  // The number of `digest`; `known` is the digest of each number given so far,
  // as a function. The next number means that it is new, and the caller must
  // have it known before the next call.
  template <typename Known>
  uint32_t NumberOf(const Digest& digest, const Known& known) {
    if (2 * (count_ + 1) > slots_.size()) Grow(known);
    const size_t slot = SlotOf(digest, known);
    if (slots_[slot] == kFree) slots_[slot] = count_++;
    return slots_[slot];
  }

  uint32_t count() const { return count_; }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;

  // Where `digest` is, or the free slot where it belongs.
  template <typename Known>
  size_t SlotOf(const Digest& digest, const Known& known) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = HashValue(digest) & mask;
    while (slots_[slot] != kFree && known(slots_[slot]) != digest) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  template <typename Known>
  void Grow(const Known& known) {
    slots_.assign(slots_.size() * 2, kFree);
    for (uint32_t number = 0; number < count_; ++number) {
      slots_[SlotOf(known(number), known)] = number;
    }
  }

  uint32_t count_ = 0;
  std::vector<uint32_t> slots_ =  // A power of two of them, half of them free.
      std::vector<uint32_t>(16, kFree);
};

}  // namespace casemate::tree
