// What the filesystem says of an entry.
#pragma once

#include <cstdint>
#include <string_view>

struct stat;

namespace casemate::files {

enum class Kind : uint8_t {
  kUnknown,
  kRegular,
  kDirectory,
  kSymlink,
  kFifo,
  kSocket,
  kCharacterDevice,
  kBlockDevice,
};

// "regular file", "directory", "symbolic link", "FIFO", …
std::string_view KindName(Kind kind);

// Times are nanoseconds since the epoch.
struct Stat {
  Kind kind = Kind::kUnknown;
  uint32_t mode = 0;  // Permission bits with setuid, setgid and sticky (07777).
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t links = 0;
  int64_t size = 0;
  int64_t atime = 0;
  int64_t mtime = 0;
  int64_t ctime = 0;

  bool executable() const { return (mode & 0111) != 0; }
};

Stat FromSystem(const struct stat& system);

// The same file or directory, whatever happened to its content.
inline bool SameFile(const Stat& a, const Stat& b) {
  return a.device == b.device && a.inode == b.inode && a.kind == b.kind;
}

// The same file with, as far as the filesystem can tell, the same content.
inline bool Unchanged(const Stat& a, const Stat& b) {
  return SameFile(a, b) && a.size == b.size && a.mtime == b.mtime &&
         a.ctime == b.ctime;
}

}  // namespace casemate::files
