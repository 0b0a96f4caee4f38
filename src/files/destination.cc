#include <fcntl.h>
#include <stdlib.h>

#include <cerrno>
#include <memory>

#include "base/try.h"
#include "files/error.h"
#include "files/path.h"
#include "files/staging.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

Result<Directory> OpenParent(std::string_view parent) {
  const std::string path(parent);
  Descriptor held(
      sys::OpenAt(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!held) return SystemError(errno, "open", path);
  return Directory(std::move(held));
}

// "a/b/" into "a" and "b", "b" into "." and "b", "/b" into "/" and "b".
SplitPath SplitOperatorPath(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {".", path};
  if (slash == 0) return {"/", path.substr(1)};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

// The path without links and dots.
Result<std::string> Canonical(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> resolved(
      realpath(path.c_str(), nullptr), &free);
  if (resolved != nullptr) return std::string(resolved.get());
  return SystemError(errno, "resolve", path);
}

Result<Destination> FromCanonical(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string canonical, Canonical(path));
  const auto [parent, name] = SplitOperatorPath(canonical);
  if (name.empty()) {
    return Error{Code::kFailedPrecondition,
                 "the root of the file system cannot be a destination"};
  }
  ASSIGN_OR_RETURN(Directory held, OpenParent(parent));
  return Destination{std::move(held), std::string(name)};
}

}  // namespace

Result<Destination> Destination::Resolve(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Error{Code::kInvalidArgument,
                 "not a path: \"" + Printable(path) + '"'};
  }
  const auto [parent, name] = SplitOperatorPath(path);
  if (name.empty() || name == "." || name == "..") return FromCanonical(path);
  ASSIGN_OR_RETURN(Directory held, OpenParent(parent));
  const auto there = held.StatEntry(name);
  if (there && there->kind == Kind::kSymlink) {
    auto target = FromCanonical(path);
    if (target || target.error().code != Code::kNotFound) return target;
    return Error{Code::kFailedPrecondition,
                 Printable(path) + " is a link that leads to nothing"};
  }
  if (!there && there.error().code != Code::kNotFound) return there.error();
  return Destination{std::move(held), std::string(name)};
}

}  // namespace casemate::files
