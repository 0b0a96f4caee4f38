// Directory::RemoveTree. Two directories are held at a time, the top and one of
// its sub-directories. Those below the sub-directory that are not empty move up
// into the top under new names, until all is flat and gone. So depth costs
// nothing, and every call names one entry of a held directory.

#include <fcntl.h>

#include <cerrno>

#include "base/try.h"
#include "files/atomic_file.h"
#include "files/directory.h"
#include "files/directory_stream.h"
#include "files/error.h"
#include "files/path.h"
#include "files/resolve.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

constexpr mode_t kOwnerOnly = 0700;

// An entry may be a directory for one call and none for the next.
constexpr int kMostTries = 128;

// Opens a directory of ours that may forbid us to list it or to change it, and
// allows both.
Result<Directory> OpenToEmpty(const Directory& parent, std::string_view name) {
  const ZeroEnded ended(name);
  const int fd = parent.descriptor().get();
  Descriptor opened(OpenStep(fd, ended.get(), O_RDONLY));
  if (!opened && errno == EACCES) {
    // No descriptor that allows fchmod can be had; /proc leads to the very
    // directory that is held, wherever its name may lead by now.
    const Descriptor held(OpenStep(fd, ended.get(), O_PATH));
    if (!held) return SystemError(errno, "open", name);
    const std::string self = "/proc/self/fd/" + std::to_string(held.get());
    if (sys::FChmodAt(AT_FDCWD, self.c_str(), kOwnerOnly) < 0) {
      return SystemError(EACCES, "open", name);
    }
    opened = Descriptor(OpenStep(held.get(), ".", O_RDONLY));
  }
  if (!opened) return SystemError(errno, "open", name);
  struct stat stat;
  if (sys::FStat(opened.get(), stat) == 0 &&
      (stat.st_mode & kOwnerOnly) != kOwnerOnly) {
    sys::FChmod(opened.get(), kOwnerOnly);  // Else removing will say so.
  }
  return Directory(std::move(opened));
}

enum class Removed : uint8_t { kYes, kNotEmpty };

// Removes an entry, unless it is a directory with something in it. One that
// somebody else has removed is removed. `hint` saves a call if it is right.
Result<Removed> RemoveEntry(const Directory& parent, std::string_view name,
                            Kind hint) {
  const ZeroEnded ended(name);
  const int fd = parent.descriptor().get();
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (hint != Kind::kDirectory) {
      if (sys::UnlinkAt(fd, ended.get(), 0) == 0 || errno == ENOENT) {
        return Removed::kYes;
      }
      if (errno != EISDIR) return SystemError(errno, "remove", name);
    }
    if (sys::UnlinkAt(fd, ended.get(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
      return Removed::kYes;
    }
    if (errno == ENOTEMPTY || errno == EEXIST) return Removed::kNotEmpty;
    if (errno != ENOTDIR) return SystemError(errno, "remove directory", name);
    hint = Kind::kUnknown;
  }
  return Error{Code::kAborted,
               "remove " + Printable(name) + ": others keep exchanging it"};
}

// Moving a directory changes its "..", so it must be writable itself.
Result<void> MoveUp(const Directory& from, std::string_view name,
                    const Directory& top) {
  const std::string aside = RandomName(".casemate-");
  auto moved = from.Rename(name, top, aside, Replace::kYes);
  if (!moved && moved.error().code == Code::kPermissionDenied) {
    RETURN_IF_ERROR(OpenToEmpty(from, name));
    moved = from.Rename(name, top, aside, Replace::kYes);
  }
  if (!moved && moved.error().code == Code::kNotFound) return {};
  return moved;
}

// Empties `directory`, calling `keep(name)` for each directory in it that is
// not empty. Whether it met anything.
template <typename Keep>
Result<bool> Sweep(const Context& ctx, const Directory& directory, Keep keep) {
  DirectoryStream stream(directory);
  bool met = false;
  for (;;) {
    RETURN_IF_ERROR(ctx.Check());
    const auto next = stream.Next();
    if (!next && next.error().code == Code::kNotFound) return met;  // Removed.
    if (!next) return next.error();
    if (!*next) return met;
    met = true;
    const auto& [name, kind] = **next;
    ASSIGN_OR_RETURN(const Removed removed, RemoveEntry(directory, name, kind));
    if (removed == Removed::kNotEmpty) RETURN_IF_ERROR(keep(name));
  }
}

// Gone, or no directory any more: a matter for the next look.
bool WasTaken(const Error& error) {
  return error.code == Code::kNotFound ||
         error.code == Code::kFailedPrecondition;
}

// Removes or moves up all that is in `name`, an entry of `top`. What others add
// meanwhile is found at the next sweep of `top`.
Result<void> Flatten(const Context& ctx, const Directory& top,
                     std::string_view name) {
  const auto sub = OpenToEmpty(top, name);
  if (!sub && WasTaken(sub.error())) return {};
  if (!sub) return sub.error();
  RETURN_IF_ERROR(Sweep(ctx, *sub, [&](std::string_view below) {
    return MoveUp(*sub, below, top);
  }));
  RETURN_IF_ERROR(RemoveEntry(top, name, Kind::kDirectory));
  return {};
}

}  // namespace

Result<void> Directory::RemoveTree(const Context& ctx,
                                   std::string_view name) const {
  RETURN_IF_ERROR(CheckName(name));
  for (;;) {
    RETURN_IF_ERROR(ctx.Check());
    ASSIGN_OR_RETURN(const Removed removed,
                     RemoveEntry(*this, name, Kind::kUnknown));
    if (removed == Removed::kYes) return {};
    const auto top = OpenToEmpty(*this, name);
    if (!top && WasTaken(top.error())) continue;
    if (!top) return top.error();
    for (bool met = true; met;) {
      ASSIGN_OR_RETURN(met, Sweep(ctx, *top, [&](std::string_view below) {
                         return Flatten(ctx, *top, below);
                       }));
    }
  }
}

}  // namespace casemate::files
