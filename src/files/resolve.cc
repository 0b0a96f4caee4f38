#include "files/resolve.h"

#include <fcntl.h>
#include <linux/openat2.h>

#include <cerrno>
#include <cstring>

#include "files/path.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

constexpr uint64_t kConfined =
    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

// Somebody who renames around us can make the kernel say "try again", or doubt
// whether the path is still below (EXDEV); for ever, if we let him.
constexpr int kMostTries = 128;

int OpenAt2(int base, const char* path, int flags, mode_t mode,
            uint64_t resolve) {
  int result = -1;
  for (int tries = 0; tries < kMostTries; ++tries) {
    result = sys::OpenAt2(base, path, flags, mode, resolve);
    if (result >= 0 || (errno != EAGAIN && errno != EXDEV)) break;
  }
  return result;
}

// O_DIRECTORY says ENOTDIR of a link as of a file; callers want to know which.
void TellLink(int directory, const char* name) {
  struct stat stat;
  if (errno != ENOTDIR) return;
  const bool known =
      sys::FStatAt(directory, name, stat, AT_SYMLINK_NOFOLLOW) == 0;
  errno = known && S_ISLNK(stat.st_mode) ? ELOOP : ENOTDIR;
}

int OpenLast(int directory, const char* name, int flags, mode_t mode) {
  const int result = sys::OpenAt(directory, name, flags | O_NOFOLLOW, mode);
  if (result < 0 && (flags & O_DIRECTORY) != 0) TellLink(directory, name);
  return result;
}

// Cuts `path` into its names as it goes.
int Walk(int base, char* path, int flags, mode_t mode) {
  Descriptor held;
  int at = base;
  while (char* const slash = std::strchr(path, '/')) {
    *slash = '\0';
    Descriptor next(OpenStep(at, path, O_PATH));
    if (!next) return -1;
    held = std::move(next);
    at = held.get();
    path = slash + 1;
  }
  return OpenLast(at, path, flags, mode);
}

}  // namespace

Way Choose(const RootOptions& options) {
  const bool openat2 =
      options.resolver == Resolver::kOpenat2 ||
      (options.resolver == Resolver::kBest && sys::HasOpenAt2());
  if (options.links == Links::kFollow) {
    return openat2 ? Way::kFollowOpenat2 : Way::kFollow;
  }
  return openat2 ? Way::kOpenat2 : Way::kComponentWalk;
}

int OpenBelow(Way way, int base, std::string_view path, int flags,
              mode_t mode) {
  ZeroEnded ended(path.empty() ? "." : path);
  switch (way) {
    case Way::kOpenat2:
      return OpenAt2(base, ended.get(), flags, mode, kConfined);
    case Way::kComponentWalk: return Walk(base, ended.get(), flags, mode);
    case Way::kFollowOpenat2:
      return OpenAt2(base, ended.get(), flags, mode, RESOLVE_NO_MAGICLINKS);
    case Way::kFollow: return sys::OpenAt(base, ended.get(), flags, mode);
  }
  return -1;
}

int OpenCached(int base, std::string_view path, int flags) {
  return sys::OpenAt2(base, ZeroEnded(path).get(), flags, 0,
                      kConfined | RESOLVE_NO_XDEV | RESOLVE_CACHED);
}

int OpenStep(int directory, const char* name, int access) {
  const int result = sys::OpenAt(directory, name,
                                 access | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (result < 0) TellLink(directory, name);
  return result;
}

}  // namespace casemate::files
