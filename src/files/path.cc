#include "files/path.h"

#include "files/directory.h"
#include "files/error.h"
#include "files/root.h"

namespace casemate::files {
namespace {

// Without the search for NUL, which is quicker over a whole path.
bool IsName(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  if (name[0] != '.') return true;
  return name != "." && name != "..";
}

bool HasNul(std::string_view text) {
  return std::memchr(text.data(), '\0', text.size()) != nullptr;
}

bool IsPath(std::string_view path) {
  if (path.empty()) return true;
  if (HasNul(path)) return false;
  for (;;) {
    const size_t slash = path.find('/');
    if (!IsName(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

Result<void> CheckName(std::string_view name) {
  if (IsName(name) && !HasNul(name) &&
      name.find('/') == std::string_view::npos) {
    return {};
  }
  return Error{Code::kInvalidArgument,
               "not a name of one entry: \"" + Printable(name) + '"'};
}

Result<void> CheckPath(std::string_view path) {
  if (IsPath(path)) return {};
  return Error{Code::kInvalidArgument,
               "not a plain relative path: \"" + Printable(path) + '"'};
}

Result<void> CheckTarget(std::string_view target, std::string_view link) {
  if (!target.empty() && target.size() <= kMaxPathBytes && !HasNul(target)) {
    return {};
  }
  return Error{Code::kInvalidArgument, "make link " + Printable(link) +
                                           ": no link can point to \"" +
                                           Printable(target) + '"'};
}

std::vector<size_t> Cuts(std::string_view path, size_t part_bytes) {
  std::vector<size_t> cuts;
  size_t begin = 0;
  while (path.size() - begin > part_bytes) {
    const size_t slash = path.rfind('/', begin + part_bytes);
    cuts.push_back(slash);
    begin = slash + 1;
  }
  return cuts;
}

SplitPath Split(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string Join(std::string_view parent, std::string_view name) {
  std::string path;
  path.reserve(parent.size() + 1 + name.size());
  path += parent;
  if (!parent.empty()) path += '/';
  path += name;
  return path;
}

}  // namespace casemate::files
