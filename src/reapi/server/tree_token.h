// Page tokens of GetTree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "casemate/digest.h"

namespace casemate::reapi {

// Which directories of a walk were sent: a digest over their numbers and
// digests, in order.
class TreeChain {
 public:
  void Add(uint32_t number, const Digest& directory);

  // 32 hex digits.
  std::string Hex() const { return value_.Hex().substr(0, 32); }

 private:
  Digest value_;
};

// Where a walk goes on. A token says all that is needed: no server remembers
// it, and every server of the same blobs takes it, also after a restart.
//
//   "1-<next>-<chain>-<checksum>", the checksum over the others and the root.
struct TreeToken {
  uint32_t next = 0;  // Number of the first directory that was not yet sent.
  std::string chain;  // TreeChain's, of those before.

  std::string Format(const Digest& root) const;

  // nullopt for what Format has not made for that root.
  static std::optional<TreeToken> Parse(std::string_view text,
                                        const Digest& root);
};

}  // namespace casemate::reapi
