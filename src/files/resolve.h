// Opening a path below a held directory: the ways to do it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string_view>

#include "files/root.h"

namespace casemate::files {

enum class Way : uint8_t {
  kOpenat2,        // One call, confined by the kernel.
  kComponentWalk,  // One call for each name, none of which may be a link.
  kFollowOpenat2,  // Links are followed, except magic ones such as /proc's.
  kFollow,         // Links are followed.
};

Way Choose(const RootOptions& options);

inline bool Follows(Way way) {
  return way == Way::kFollowOpenat2 || way == Way::kFollow;
}

// Longer paths are resolved in parts (see PrefixCache). The walk's parts are
// shorter, because its cost grows with the number of names.
inline size_t PartBytes(Way way) {
  return way == Way::kComponentWalk ? 512 : 4095;
}

// Opens `path`, which CheckPath has passed and the system takes at once, below
// `base`; an empty path is `base` itself. The descriptor, or -1 and errno,
// which is ELOOP when a link stood in the way.
int OpenBelow(Way way, int base, std::string_view path, int flags,
              mode_t mode = 0);

// As kOpenat2, if it can be done from the kernel's caches alone, within one
// mount; else -1 and an errno other than ENOENT.
int OpenCached(int base, std::string_view path, int flags);

// Opens a directory that is one name under `directory`, never through a link.
// `access` is O_PATH or O_RDONLY.
int OpenStep(int directory, const char* name, int access);

}  // namespace casemate::files
