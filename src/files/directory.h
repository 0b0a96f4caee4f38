// A held directory: one descriptor, and the operations on its own entries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/context.h"
#include "casemate/result.h"
#include "files/descriptor.h"
#include "files/file.h"
#include "files/stat.h"
#include "files/utf8.h"

namespace casemate::files {

// One component of a path: not empty, no '/', no NUL, not "." or "..", at most
// 255 bytes. Every call that takes a name checks it; kInvalidArgument.
Result<void> CheckName(std::string_view name);

// An entry as the directory lists it. `kind` is a hint (d_type), kUnknown where
// the filesystem does not say.
struct Entry {
  std::string name;
  Kind kind = Kind::kUnknown;
};

enum class Replace : uint8_t {
  kNo,        // kAlreadyExists if the target exists.
  kYes,       // Atomically.
  kExchange,  // Both must exist; they change places.
};

// Holds its directory wherever that is moved to. No operation here follows a
// symbolic link or leaves the directory. Movable; safe from many threads, List
// excepted. kNotFound, kPermissionDenied and so on as the system says, each
// message naming operation and entry.
class Directory {
 public:
  explicit Directory(Descriptor descriptor)
      : descriptor_(std::move(descriptor)) {}

  // All entries, without "." and "..", in no order. Checks `ctx` as it goes.
  Result<std::vector<Entry>> List(const Context& ctx) const;

  Result<Stat> StatSelf() const;
  Result<Stat> StatEntry(std::string_view name) const;
  Result<std::string> ReadLink(std::string_view name) const;

  Result<Directory> OpenDirectory(std::string_view name) const;

  // Opens a regular file that a StatEntry has just described as `expected`:
  // without blocking on a FIFO that took its place, and kFailedPrecondition if
  // it is no longer the same file.
  Result<File> OpenFile(std::string_view name, const Stat& expected) const;

  // The file must not exist. `mode` is subject to the umask.
  Result<OutputFile> CreateFile(std::string_view name, uint32_t mode) const;
  Result<void> MakeDirectory(std::string_view name, uint32_t mode) const;
  Result<void> MakeSymlink(std::string_view name,
                           const std::string& target) const;

  // Moves an entry to `to` under `to_directory`, on the same filesystem.
  Result<void> Rename(std::string_view name, const Directory& to_directory,
                      std::string_view to, Replace replace) const;
  Result<void> Unlink(std::string_view name) const;
  Result<void> RemoveDirectory(std::string_view name) const;

  // Removes `name` and all below it, in bounded memory and descriptors however
  // deep it is; what forbids it by its mode is made to allow it. Not there is
  // success. A removal that fails leaves what remains in disorder.
  Result<void> RemoveTree(const Context& ctx, std::string_view name) const;

  Result<void> SetMode(uint32_t mode) const;      // & 0777 only.
  Result<void> SetModified(int64_t mtime) const;  // Of the directory itself.
  Result<void> SetEntryAccessed(std::string_view name, int64_t atime) const;

  // Whether its files are memory and no disk is ever waited for (tmpfs).
  Result<bool> IsInMemory() const;

  Result<void> Sync() const;            // fsync of the directory.
  Result<void> SyncFilesystem() const;  // syncfs of all it lies on.

  const Descriptor& descriptor() const { return descriptor_; }

 private:
  Descriptor descriptor_;
};

}  // namespace casemate::files
