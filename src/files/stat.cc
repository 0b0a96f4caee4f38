#include "files/stat.h"

#include <sys/stat.h>

namespace casemate::files {
namespace {

Kind KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return Kind::kRegular;
    case S_IFDIR: return Kind::kDirectory;
    case S_IFLNK: return Kind::kSymlink;
    case S_IFIFO: return Kind::kFifo;
    case S_IFSOCK: return Kind::kSocket;
    case S_IFCHR: return Kind::kCharacterDevice;
    case S_IFBLK: return Kind::kBlockDevice;
    default: return Kind::kUnknown;
  }
}

// Anybody may date a file beyond what 64 bits of nanoseconds reach (the years
// 1677 to 2262); such a time is the nearest that they do.
int64_t Nanoseconds(const timespec& time) {
  int64_t result = 0;
  if (__builtin_mul_overflow(int64_t{time.tv_sec}, 1'000'000'000, &result) ||
      __builtin_add_overflow(result, time.tv_nsec, &result)) {
    return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
  }
  return result;
}

}  // namespace

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kUnknown: return "unknown kind of entry";
    case Kind::kRegular: return "regular file";
    case Kind::kDirectory: return "directory";
    case Kind::kSymlink: return "symbolic link";
    case Kind::kFifo: return "FIFO";
    case Kind::kSocket: return "socket";
    case Kind::kCharacterDevice: return "character device";
    case Kind::kBlockDevice: return "block device";
  }
  return "unknown kind of entry";
}

Stat FromSystem(const struct stat& system) {
  Stat stat;
  stat.kind = KindOf(system.st_mode);
  stat.mode = system.st_mode & 07777;
  stat.device = system.st_dev;
  stat.inode = system.st_ino;
  stat.links = system.st_nlink;
  stat.size = system.st_size;
  stat.atime = Nanoseconds(system.st_atim);
  stat.mtime = Nanoseconds(system.st_mtim);
  stat.ctime = Nanoseconds(system.st_ctim);
  return stat;
}

}  // namespace casemate::files
