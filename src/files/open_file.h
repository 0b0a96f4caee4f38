// Opening regular files, and nothing else.
#pragma once

#include <fcntl.h>

#include <string_view>

#include "files/file.h"

namespace casemate::files {

// Should something else have taken the file's place, its open neither waits
// (a FIFO) nor makes a terminal ours.
inline constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
inline constexpr int kCreateFlags =
    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;

// kFailedPrecondition unless `expected` is a regular file. Asked before an
// open.
Result<void> RequireRegular(const Stat& expected, std::string_view path);

// The file behind `descriptor`; kFailedPrecondition unless it is `expected`.
Result<File> Adopt(Descriptor descriptor, const Stat& expected,
                   std::string_view path);

}  // namespace casemate::files
