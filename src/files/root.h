// Root: an open handle on a directory that bounds all access below it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "casemate/result.h"
#include "files/directory.h"
#include "files/file.h"
#include "files/stat.h"

namespace casemate::files {

// How a path below a root is resolved. kBest is openat2 where the kernel has it
// and lets us (probed once a process), else the component walk.
enum class Resolver : uint8_t { kBest, kOpenat2, kComponentWalk };

// What a symbolic link below the root means to an open.
enum class Links : uint8_t {
  kRefuse,  // Nothing is resolved through a link, and nothing leaves the root.
  kFollow,  // Links are followed, also out of the root: the operator's wish.
};

struct RootOptions {
  Links links = Links::kRefuse;
  Resolver resolver = Resolver::kBest;
};

// Paths are relative to the root: names (see CheckName) joined by single
// slashes; the empty path is the root itself. They may be longer than PATH_MAX.
// Each open resolves its whole path anew, so that whoever can rename or link
// below the root can make an open fail but never lead it outside: such an
// attempt gives kFailedPrecondition, "became a symbolic link", or kNotFound.
// (Paths beyond PATH_MAX, or in the component walk beyond 512 bytes, may go on
// from a directory that was resolved before and is held since; it was below the
// root then.)
//
// Cheap to move, safe from many threads; its children may outlive it.
class Root {
 public:
  // The operator's own path: trusted, and may itself lead through links.
  static Result<Root> Open(const std::string& path, RootOptions options = {});

  // A root on a directory that is already held.
  static Result<Root> At(const Directory& directory, RootOptions options = {});

  Root(Root&&) noexcept;
  Root& operator=(Root&&) noexcept;
  ~Root();

  Result<Directory> OpenDirectory(std::string_view path) const;

  // Without following a link at its end, except under Links::kFollow.
  Result<Stat> StatPath(std::string_view path) const;

  // As Directory::OpenFile: a regular file, and still the one in `expected`.
  Result<File> OpenFile(std::string_view path, const Stat& expected) const;

  // Stat, then open: for callers that saw no Stat before.
  Result<File> OpenFile(std::string_view path) const;

  // The file, if nothing has to be waited for: the kernel has its whole path in
  // its caches. kNotFound is as certain as elsewhere. nullopt: ask OpenFile
  // where waiting is allowed. That is all that can be had under another
  // resolver than openat2 (of Linux 5.12), beyond a mount point, through links,
  // and for what is no regular file.
  std::optional<Result<File>> TryOpenFile(std::string_view path) const;

  // As in Directory; the parent must exist.
  Result<OutputFile> CreateFile(std::string_view path, uint32_t mode) const;
  Result<void> MakeDirectory(std::string_view path, uint32_t mode) const;
  Result<void> MakeSymlink(std::string_view path,
                           const std::string& target) const;

  // Makes each missing directory of `path`; an existing one is kept, anything
  // else that exists is kAlreadyExists.
  Result<void> MakeDirectories(std::string_view path, uint32_t mode) const;

  Links links() const;

 private:
  struct Shared;
  explicit Root(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

// Splits "a/b/c" into "a/b" and "c"; a single name into "" and itself.
struct SplitPath {
  std::string_view parent;
  std::string_view name;
};
SplitPath Split(std::string_view path);

// "a" and "b" give "a/b", "" and "b" give "b".
std::string Join(std::string_view parent, std::string_view name);

}  // namespace casemate::files
