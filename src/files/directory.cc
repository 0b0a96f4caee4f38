#include "files/directory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/statfs.h>

#include <cerrno>

#include "base/try.h"
#include "files/directory_stream.h"
#include "files/error.h"
#include "files/open_file.h"
#include "files/path.h"
#include "files/resolve.h"
#include "files/sys.h"
#include "files/times.h"

namespace casemate::files {
namespace {

Result<void> Outcome(int result, std::string_view doing,
                     std::string_view entry) {
  if (result >= 0) return {};
  return SystemError(errno, doing, entry);
}

// For filesystems without RENAME_NOREPLACE (NFS, some FUSE): a second name,
// which is refused if it exists, then the first one goes. Not for directories.
int MoveByLink(int from, const char* name, int to_directory, const char* to) {
  if (sys::LinkAt(from, name, to_directory, to) < 0) {
    if (errno != EEXIST) errno = EINVAL;
    return -1;
  }
  return sys::UnlinkAt(from, name, 0);
}

unsigned Flags(Replace replace) {
  switch (replace) {
    case Replace::kNo: return RENAME_NOREPLACE;
    case Replace::kYes: return 0;
    case Replace::kExchange: return RENAME_EXCHANGE;
  }
  return RENAME_NOREPLACE;
}

}  // namespace

Result<std::vector<Entry>> Directory::List(const Context& ctx) const {
  DirectoryStream stream(*this);
  std::vector<Entry> entries;
  for (;;) {
    if (entries.size() % 1024 == 0) RETURN_IF_ERROR(ctx.Check());
    ASSIGN_OR_RETURN(const auto item, stream.Next());
    if (!item) return entries;
    entries.push_back({std::string(item->name), item->kind});
  }
}

Result<Stat> Directory::StatSelf() const {
  struct stat system;
  if (sys::FStat(descriptor_.get(), system) < 0) {
    return SystemError(errno, "stat", "directory");
  }
  return FromSystem(system);
}

Result<Stat> Directory::StatEntry(std::string_view name) const {
  RETURN_IF_ERROR(CheckName(name));
  struct stat system;
  if (sys::FStatAt(descriptor_.get(), ZeroEnded(name).get(), system,
                   AT_SYMLINK_NOFOLLOW) < 0) {
    return SystemError(errno, "stat", name);
  }
  return FromSystem(system);
}

Result<std::string> Directory::ReadLink(std::string_view name) const {
  RETURN_IF_ERROR(CheckName(name));
  std::string target(kMaxPathBytes + 1, '\0');  // No target is longer.
  const ssize_t length = sys::ReadLinkAt(
      descriptor_.get(), ZeroEnded(name).get(), target.data(), target.size());
  if (length < 0 && errno == EINVAL) {
    return Error{Code::kFailedPrecondition,
                 "read link " + Printable(name) + ": is not a symbolic link"};
  }
  if (length < 0) return SystemError(errno, "read link", name);
  target.resize(static_cast<size_t>(length));
  target.shrink_to_fit();
  return target;
}

Result<Directory> Directory::OpenDirectory(std::string_view name) const {
  RETURN_IF_ERROR(CheckName(name));
  Descriptor opened(
      OpenStep(descriptor_.get(), ZeroEnded(name).get(), O_RDONLY));
  if (!opened) return SystemError(errno, "open", name);
  return Directory(std::move(opened));
}

Result<File> Directory::OpenFile(std::string_view name,
                                 const Stat& expected) const {
  RETURN_IF_ERROR(CheckName(name));
  RETURN_IF_ERROR(RequireRegular(expected, name));
  Descriptor opened(sys::OpenAt(descriptor_.get(), ZeroEnded(name).get(),
                                kReadFlags | O_NOFOLLOW));
  if (!opened) return SystemError(errno, "open", name);
  return Adopt(std::move(opened), expected, name);
}

Result<OutputFile> Directory::CreateFile(std::string_view name,
                                         uint32_t mode) const {
  RETURN_IF_ERROR(CheckName(name));
  Descriptor created(sys::OpenAt(descriptor_.get(), ZeroEnded(name).get(),
                                 kCreateFlags, mode & 0777));
  if (!created) return SystemError(errno, "create", name);
  return OutputFile(std::move(created));
}

Result<void> Directory::MakeDirectory(std::string_view name,
                                      uint32_t mode) const {
  RETURN_IF_ERROR(CheckName(name));
  return Outcome(
      sys::MkdirAt(descriptor_.get(), ZeroEnded(name).get(), mode & 0777),
      "make directory", name);
}

Result<void> Directory::MakeSymlink(std::string_view name,
                                    const std::string& target) const {
  RETURN_IF_ERROR(CheckName(name));
  RETURN_IF_ERROR(CheckTarget(target, name));
  return Outcome(
      sys::SymlinkAt(target.c_str(), descriptor_.get(), ZeroEnded(name).get()),
      "make link", name);
}

Result<void> Directory::Rename(std::string_view name,
                               const Directory& to_directory,
                               std::string_view to, Replace replace) const {
  RETURN_IF_ERROR(CheckName(name));
  RETURN_IF_ERROR(CheckName(to));
  const ZeroEnded from_name(name), to_name(to);
  const int from_fd = descriptor_.get();
  const int to_fd = to_directory.descriptor_.get();
  int result = sys::RenameAt2(from_fd, from_name.get(), to_fd, to_name.get(),
                              Flags(replace));
  if (result < 0 && errno == EINVAL && replace == Replace::kNo) {
    result = MoveByLink(from_fd, from_name.get(), to_fd, to_name.get());
  }
  if (result < 0 && errno == EINVAL && replace == Replace::kExchange) {
    return Error{Code::kUnimplemented,
                 "exchange " + Printable(name) + " and " + Printable(to) +
                     ": the filesystem cannot do that in one step"};
  }
  if (result == 0) return {};
  return SystemError(errno, "rename " + Printable(name) + " to", to);
}

Result<void> Directory::Unlink(std::string_view name) const {
  RETURN_IF_ERROR(CheckName(name));
  return Outcome(sys::UnlinkAt(descriptor_.get(), ZeroEnded(name).get(), 0),
                 "remove", name);
}

Result<void> Directory::RemoveDirectory(std::string_view name) const {
  RETURN_IF_ERROR(CheckName(name));
  return Outcome(
      sys::UnlinkAt(descriptor_.get(), ZeroEnded(name).get(), AT_REMOVEDIR),
      "remove directory", name);
}

Result<void> Directory::SetMode(uint32_t mode) const {
  return Outcome(sys::FChmod(descriptor_.get(), mode & 0777), "set the mode of",
                 "directory");
}

Result<void> Directory::SetModified(int64_t mtime) const {
  return Outcome(sys::FUTimens(descriptor_.get(), ModifiedAt(mtime).times),
                 "set the time of", "directory");
}

Result<void> Directory::SetEntryAccessed(std::string_view name,
                                         int64_t atime) const {
  RETURN_IF_ERROR(CheckName(name));
  return Outcome(sys::UTimensAt(descriptor_.get(), ZeroEnded(name).get(),
                                AccessedAt(atime).times, AT_SYMLINK_NOFOLLOW),
                 "set the time of", name);
}

Result<bool> Directory::IsInMemory() const {
  struct statfs system;
  if (sys::FStatFs(descriptor_.get(), system) < 0) {
    return SystemError(errno, "ask for the filesystem of", "directory");
  }
  return system.f_type == TMPFS_MAGIC;
}

Result<void> Directory::Sync() const {
  return Outcome(sys::FSync(descriptor_.get()), "sync", "directory");
}

Result<void> Directory::SyncFilesystem() const {
  return Outcome(sys::SyncFs(descriptor_.get()), "sync", "filesystem");
}

}  // namespace casemate::files
