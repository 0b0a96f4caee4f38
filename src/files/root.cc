#include "files/root.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/try.h"
#include "files/error.h"
#include "files/open_file.h"
#include "files/path.h"
#include "files/prefix_cache.h"
#include "files/resolve.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

constexpr int kHoldFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;

// Of the beginnings of a long path that were resolved on the way, this many
// last ones are kept, for the time when its walker climbs up again.
constexpr size_t kKeptPerResolution = 8;

bool MayBeStale(int error) { return error == ENOENT || error == ENOTDIR; }

}  // namespace

struct Root::Shared {
  Shared(Descriptor held, const RootOptions& options)
      : root(std::move(held)), links(options.links), way(Choose(options)) {}

  // Below, a result is what a system call gives: -1 and errno on failure.

  // Calls `operation(base, rest)` with a held directory and the path from
  // there, which the system takes at once.
  template <typename Operation>
  int Run(std::string_view path, Operation operation) {
    if (path.size() <= PartBytes(way)) return operation(root.get(), path);
    return RunLong(path, operation);
  }

  // Calls `operation(directory, name)` with the directory that holds the entry.
  template <typename Operation>
  int OnEntry(std::string_view path, Operation operation) {
    return Run(path, [&](int base, std::string_view rest) {
      const auto [parent, name] = Split(rest);
      const ZeroEnded ended(name);
      if (parent.empty()) return operation(base, ended.get());
      const Descriptor held(OpenBelow(way, base, parent, kHoldFlags));
      return held ? operation(held.get(), ended.get()) : -1;
    });
  }

  int Open(std::string_view path, int flags, mode_t mode = 0) {
    return Run(path, [&](int base, std::string_view rest) {
      return OpenBelow(way, base, rest, flags, mode);
    });
  }

  // A directory that is held may have been removed meanwhile and made anew
  // under the same path, so an absence is believed only when all was resolved
  // anew.
  template <typename Operation>
  int RunLong(std::string_view path, Operation operation) {
    const std::vector<size_t> cuts = Cuts(path, PartBytes(way));
    const std::string_view rest = path.substr(cuts.back() + 1);
    const auto known = prefixes.FindLongest(path, cuts);
    if (known.held) {
      const SharedDescriptor base = Hold(path, cuts, known);
      const int result = base ? operation(base->get(), rest) : -1;
      if (result >= 0 || !MayBeStale(errno)) return result;
      prefixes.Drop(path);
    }
    const SharedDescriptor base = Hold(path, cuts, {});
    return base ? operation(base->get(), rest) : -1;
  }

  // The directory in which `path` goes on after its last cut, resolved from
  // what is known on; null and errno.
  SharedDescriptor Hold(std::string_view path, std::span<const size_t> cuts,
                        const PrefixCache::Found& known) {
    SharedDescriptor held = known.held;
    for (size_t next = held ? known.cut + 1 : 0; next < cuts.size(); ++next) {
      const size_t begin = next == 0 ? 0 : cuts[next - 1] + 1;
      const int base = held ? held->get() : root.get();
      Descriptor opened(OpenBelow(
          way, base, path.substr(begin, cuts[next] - begin), kHoldFlags));
      if (!opened) return nullptr;
      held = std::make_shared<const Descriptor>(std::move(opened));
      if (next + kKeptPerResolution >= cuts.size()) {
        prefixes.Add(path.substr(0, cuts[next]), held);
      }
    }
    return held;
  }

  Error Failure(std::string_view doing, std::string_view path) const;

  const Descriptor root;
  const Links links;
  const Way way;
  PrefixCache prefixes;
};

// From errno.
Error Root::Shared::Failure(std::string_view doing,
                            std::string_view path) const {
  const int error = errno;
  if (error != ELOOP)
    return SystemError(error, doing, path.empty() ? "." : path);
  return {CodeOf(error),
          std::string(doing) + ' ' + Printable(path) +
              (links == Links::kFollow
                   ? ": a loop of symbolic links, or one into the kernel"
                   : ": it or a directory above became a symbolic link")};
}

Root::Root(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}
Root::Root(Root&&) noexcept = default;
Root& Root::operator=(Root&&) noexcept = default;
Root::~Root() = default;

Result<Root> Root::Open(const std::string& path, RootOptions options) {
  if (path.find('\0') != std::string::npos) {
    return Error{Code::kInvalidArgument, "a path holds a NUL byte"};
  }
  Descriptor held(sys::OpenAt(AT_FDCWD, path.c_str(), kHoldFlags));
  if (!held) return SystemError(errno, "open", path);
  return Root(std::make_unique<Shared>(std::move(held), options));
}

Result<Root> Root::At(const Directory& directory, RootOptions options) {
  Descriptor held(sys::Duplicate(directory.descriptor().get()));
  if (!held) return SystemError(errno, "hold", "directory");
  return Root(std::make_unique<Shared>(std::move(held), options));
}

Result<Directory> Root::OpenDirectory(std::string_view path) const {
  RETURN_IF_ERROR(CheckPath(path));
  Descriptor opened(shared_->Open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return shared_->Failure("open", path);
  return Directory(std::move(opened));
}

Result<Stat> Root::StatPath(std::string_view path) const {
  RETURN_IF_ERROR(CheckPath(path));
  struct stat system;
  int result = 0;
  if (path.empty()) {
    result = sys::FStat(shared_->root.get(), system);
  } else if (links() == Links::kFollow) {
    const Descriptor opened(shared_->Open(path, O_PATH | O_CLOEXEC));
    result = opened ? sys::FStat(opened.get(), system) : -1;
  } else {
    result = shared_->OnEntry(path, [&](int directory, const char* name) {
      return sys::FStatAt(directory, name, system, AT_SYMLINK_NOFOLLOW);
    });
  }
  if (result < 0) return shared_->Failure("stat", path);
  return FromSystem(system);
}

Result<File> Root::OpenFile(std::string_view path, const Stat& expected) const {
  RETURN_IF_ERROR(CheckPath(path));
  RETURN_IF_ERROR(RequireRegular(expected, path));
  const int no_follow = links() == Links::kFollow ? 0 : O_NOFOLLOW;
  Descriptor opened(shared_->Open(path, kReadFlags | no_follow));
  if (!opened) return shared_->Failure("open", path);
  return Adopt(std::move(opened), expected, path);
}

Result<File> Root::OpenFile(std::string_view path) const {
  ASSIGN_OR_RETURN(const Stat stat, StatPath(path));
  return OpenFile(path, stat);
}

std::optional<Result<File>> Root::TryOpenFile(std::string_view path) const {
  if (shared_->way != Way::kOpenat2 || path.empty() ||
      path.size() > kMaxPathBytes || !CheckPath(path)) {
    return std::nullopt;
  }
  Descriptor opened(OpenCached(shared_->root.get(), path, kReadFlags));
  if (!opened && errno == ENOENT) return shared_->Failure("open", path);
  struct stat system;
  if (!opened || sys::FStat(opened.get(), system) < 0 ||
      !S_ISREG(system.st_mode)) {
    return std::nullopt;
  }
  return File(std::move(opened), FromSystem(system));
}

Result<OutputFile> Root::CreateFile(std::string_view path,
                                    uint32_t mode) const {
  RETURN_IF_ERROR(CheckPath(path));
  Descriptor created(shared_->Open(path, kCreateFlags, mode & 0777));
  if (!created) return shared_->Failure("create", path);
  return OutputFile(std::move(created));
}

Result<void> Root::MakeDirectory(std::string_view path, uint32_t mode) const {
  RETURN_IF_ERROR(CheckPath(path));
  const int result =
      shared_->OnEntry(path, [&](int directory, const char* name) {
        return sys::MkdirAt(directory, name, mode & 0777);
      });
  if (result < 0) return shared_->Failure("make directory", path);
  return {};
}

Result<void> Root::MakeSymlink(std::string_view path,
                               const std::string& target) const {
  RETURN_IF_ERROR(CheckPath(path));
  RETURN_IF_ERROR(CheckTarget(target, path));
  const int result =
      shared_->OnEntry(path, [&](int directory, const char* name) {
        return sys::SymlinkAt(target.c_str(), directory, name);
      });
  if (result < 0) return shared_->Failure("make link", path);
  return {};
}

Result<void> Root::MakeDirectories(std::string_view path, uint32_t mode) const {
  RETURN_IF_ERROR(CheckPath(path));
  if (path.empty()) return {};
  Descriptor held;
  int at = shared_->root.get();
  size_t begin = 0;
  while (begin < path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view made = path.substr(0, end);
    const ZeroEnded name(path.substr(begin, end - begin));
    if (sys::MkdirAt(at, name.get(), mode & 0777) < 0 && errno != EEXIST) {
      return shared_->Failure("make directory", made);
    }
    held = Descriptor(OpenBelow(shared_->way, at, name.get(), kHoldFlags));
    if (!held && errno == ENOTDIR) errno = EEXIST;
    if (!held) return shared_->Failure("make directory", made);
    at = held.get();
    begin = end + 1;
  }
  return {};
}

Links Root::links() const { return shared_->links; }

}  // namespace casemate::files
