// Paths below a root: checking, cutting, and handing them to the system.
#pragma once

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "casemate/result.h"

namespace casemate::files {

// What the system takes at once: PATH_MAX less the NUL.
inline constexpr size_t kMaxPathBytes = 4095;
inline constexpr size_t kMaxNameBytes = 255;

// Names (see CheckName) joined by single slashes, of any length; or empty.
Result<void> CheckPath(std::string_view path);

// What a symbolic link may say: not empty, no NUL, at most kMaxPathBytes.
Result<void> CheckTarget(std::string_view target, std::string_view link);

// A copy with a NUL at its end, as the system wants it, on the stack.
class ZeroEnded {
 public:
  explicit ZeroEnded(std::string_view text) {  // At most kMaxPathBytes.
    std::memcpy(text_.data(), text.data(), text.size());
    text_[text.size()] = '\0';
  }
  const char* get() const { return text_.data(); }
  char* get() { return text_.data(); }

 private:
  std::array<char, kMaxPathBytes + 1> text_;
};

// Where to cut `path` (positions of slashes) so that no part is longer than
// `part_bytes`. Paths that begin alike are cut alike there.
std::vector<size_t> Cuts(std::string_view path, size_t part_bytes);

}  // namespace casemate::files
