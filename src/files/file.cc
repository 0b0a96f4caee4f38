#include "files/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "files/error.h"
#include "files/open_file.h"
#include "files/sys.h"
#include "files/times.h"

namespace casemate::files {
namespace {

constexpr size_t kBlock = 4096;

Error NotRegular(const Stat& stat, std::string_view path) {
  return {Code::kFailedPrecondition, "open " + Printable(path) + ": is a " +
                                         std::string(KindName(stat.kind)) +
                                         ", not a regular file"};
}

// `block` is of kBlock bytes. Nearly all content is seen not to be zeros by its
// first word.
bool IsZero(const std::byte* block) {
  uint64_t word;
  std::memcpy(&word, block, sizeof(word));
  return word == 0 &&
         std::memcmp(block, block + sizeof(word), kBlock - sizeof(word)) == 0;
}

// How many bytes at the front of `data`, which begins at a block's border, are
// whole blocks that are all zero, or all not.
size_t Run(std::span<const std::byte> data, bool zero) {
  size_t length = 0;
  while (data.size() - length >= kBlock &&
         IsZero(data.data() + length) == zero) {
    length += kBlock;
  }
  return length;
}

Result<size_t> ReadFully(const Descriptor& file, int64_t offset,
                         std::span<std::byte> buffer) {
  size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t got =
        sys::PRead(file.get(), buffer.data() + done, buffer.size() - done,
                   offset + static_cast<off_t>(done));
    if (got < 0) return SystemError(errno, "read", "file");
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

Result<void> RequireRegular(const Stat& expected, std::string_view path) {
  if (expected.kind == Kind::kRegular) return {};
  return NotRegular(expected, path);
}

Result<File> Adopt(Descriptor descriptor, const Stat& expected,
                   std::string_view path) {
  struct stat system;
  if (sys::FStat(descriptor.get(), system) < 0) {
    return SystemError(errno, "stat", path);
  }
  const Stat stat = FromSystem(system);
  if (stat.kind != Kind::kRegular) return NotRegular(stat, path);
  if (!SameFile(stat, expected)) {
    return Error{Code::kFailedPrecondition,
                 "open " + Printable(path) + ": was replaced by another file"};
  }
  return File(std::move(descriptor), stat);
}

Result<size_t> File::ReadAt(int64_t offset, std::span<std::byte> buffer) const {
  return ReadFully(descriptor_, offset, buffer);
}

Result<size_t> File::TryReadAt(int64_t offset,
                               std::span<std::byte> buffer) const {
  const ssize_t got =
      sys::PReadNoWait(descriptor_.get(), buffer.data(), buffer.size(), offset);
  // Some filesystems answer 0 for what they have not got at hand.
  if (got > 0 || (got == 0 && offset >= stat_.size)) {
    return static_cast<size_t>(got);
  }
  if (got < 0 && errno == EAGAIN) {
    return Error{Code::kUnavailable, "not cached"};
  }
  if (got < 0 && errno == EOPNOTSUPP) {
    return Error{Code::kUnimplemented, "cannot tell what is cached"};
  }
  return ReadAt(offset, buffer);
}

std::optional<size_t> File::ReadCached(int64_t offset,
                                       std::span<std::byte> buffer) const {
  const ssize_t got =
      sys::PReadNoWait(descriptor_.get(), buffer.data(), buffer.size(), offset);
  if (got <= 0) return std::nullopt;
  return static_cast<size_t>(got);
}

void File::Prefetch(int64_t offset, int64_t length) const {
  sys::WillNeed(descriptor_.get(), offset, length);
}

Result<Stat> File::Restat() const {
  struct stat system;
  if (sys::FStat(descriptor_.get(), system) < 0) {
    return SystemError(errno, "stat", "file");
  }
  return FromSystem(system);
}

Result<void> OutputFile::Write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t put =
        sys::PWrite(descriptor_.get(), data.data(), data.size(), size_);
    if (put < 0) return SystemError(errno, "write", "file");
    size_ += put;
    data = data.subspan(static_cast<size_t>(put));
  }
  return {};
}

Result<void> OutputFile::WriteSparse(std::span<const std::byte> data) {
  const size_t to_border = -static_cast<size_t>(size_) % kBlock;
  const size_t head = std::min(to_border, data.size());
  if (auto ok = Write(data.first(head)); !ok) return ok;
  data = data.subspan(head);
  while (data.size() >= kBlock) {
    const size_t hole = Run(data, true);
    size_ += static_cast<int64_t>(hole);
    data = data.subspan(hole);
    const size_t filled = Run(data, false);
    if (auto ok = Write(data.first(filled)); !ok) return ok;
    data = data.subspan(filled);
  }
  return Write(data);
}

Result<void> OutputFile::FinishSparse() {
  if (sys::FTruncate(descriptor_.get(), size_) == 0) return {};
  return SystemError(errno, "set the size of", "file");
}

Result<size_t> OutputFile::ReadAt(int64_t offset,
                                  std::span<std::byte> buffer) const {
  return ReadFully(descriptor_, offset, buffer);
}

Result<void> OutputFile::CutTo(int64_t size) {
  size_ = size;
  return FinishSparse();
}

Result<void> OutputFile::SetMode(uint32_t mode) {
  if (sys::FChmod(descriptor_.get(), mode & 0777) == 0) return {};
  return SystemError(errno, "set the mode of", "file");
}

Result<void> OutputFile::SetModified(int64_t mtime) {
  if (sys::FUTimens(descriptor_.get(), ModifiedAt(mtime).times) == 0) return {};
  return SystemError(errno, "set the time of", "file");
}

Result<void> OutputFile::Sync() {
  if (sys::FDataSync(descriptor_.get()) == 0) return {};
  return SystemError(errno, "sync", "file");
}

Result<Stat> OutputFile::Restat() const {
  struct stat system;
  if (sys::FStat(descriptor_.get(), system) < 0) {
    return SystemError(errno, "stat", "file");
  }
  return FromSystem(system);
}

Result<void> OutputFile::Close() {
  if (sys::Close(descriptor_.Release()) == 0) return {};
  return SystemError(errno, "close", "file");
}

}  // namespace casemate::files
