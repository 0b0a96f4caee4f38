// Open regular files: File to read, OutputFile to write.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "casemate/result.h"
#include "files/descriptor.h"
#include "files/stat.h"

namespace casemate::files {

// A regular file opened for reading. Movable; closes itself. ReadAt and
// TryReadAt may be called from any thread.
class File {
 public:
  File(Descriptor descriptor, const Stat& stat)
      : descriptor_(std::move(descriptor)), stat_(stat) {}

  // As the descriptor said right after opening.
  const Stat& stat() const { return stat_; }

  // Fills `buffer` from `offset` as far as the file reaches; fewer bytes than
  // asked mean its end. Never mmap: a truncated file must not be a SIGBUS.
  Result<size_t> ReadAt(int64_t offset, std::span<std::byte> buffer) const;

  // The same without waiting for the disk: what the page cache gives at once,
  // perhaps less than asked and not the end. kUnavailable when that is nothing,
  // kUnimplemented where the filesystem cannot tell.
  Result<size_t> TryReadAt(int64_t offset, std::span<std::byte> buffer) const;

  // What the page cache holds from `offset`, at least a byte; never waits.
  // nullopt: that is nothing, or the filesystem cannot tell.
  std::optional<size_t> ReadCached(int64_t offset,
                                   std::span<std::byte> buffer) const;

  // Asks the kernel to read ahead. Never fails, may do nothing.
  void Prefetch(int64_t offset, int64_t length) const;

  // What the descriptor says now.
  Result<Stat> Restat() const;

  const Descriptor& descriptor() const { return descriptor_; }

 private:
  Descriptor descriptor_;
  Stat stat_;
};

// A regular file that we created and nobody else has written. One thread.
// Closing without Close() ignores late write errors; call Close().
class OutputFile {
 public:
  explicit OutputFile(Descriptor descriptor)
      : descriptor_(std::move(descriptor)) {}

  // Appends all of `data`. kResourceExhausted on a full disk or quota.
  Result<void> Write(std::span<const std::byte> data);

  // The same, leaving holes where aligned blocks of zeros stand, so that a
  // sparse file stays sparse. End with FinishSparse.
  Result<void> WriteSparse(std::span<const std::byte> data);
  Result<void> FinishSparse();

  // Bytes written so far.
  int64_t size() const { return size_; }

  // Of what was written, as File::ReadAt.
  Result<size_t> ReadAt(int64_t offset, std::span<std::byte> buffer) const;

  // Gives up what was written from `size` on, which must not exceed size().
  Result<void> CutTo(int64_t size);

  Result<void> SetMode(uint32_t mode);      // fchmod; & 0777 only.
  Result<void> SetModified(int64_t mtime);  // Nanoseconds since the epoch.
  Result<void> Sync();                      // fdatasync.
  Result<Stat> Restat() const;
  Result<void> Close();

 private:
  Descriptor descriptor_;
  int64_t size_ = 0;
};

}  // namespace casemate::files
