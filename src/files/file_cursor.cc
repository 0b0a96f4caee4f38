#include "files/file_cursor.h"

#include <utility>

namespace casemate::files {

Result<File> FileCursor::OpenFile(const Root& root, std::string_view path,
                                  const Stat& expected) {
  const auto [parent, name] = Split(path);
  if (const Directory* const directory = Hold(root, parent)) {
    auto file = directory->OpenFile(name, expected);
    if (file) return file;
    Reset();
  }
  return root.OpenFile(path, expected);
}

// Null for the first file of a directory, which may be its only one; for those
// of the root itself, which are one name away anyhow; and where links lead on
// to files.
const Directory* FileCursor::Hold(const Root& root, std::string_view parent) {
  if (parent.empty() || root.links() == Links::kFollow) return nullptr;
  if (parent_ != parent) {
    Reset();
    parent_ = parent;
    return nullptr;
  }
  if (!held_) {
    auto opened = root.OpenDirectory(parent);
    if (!opened) return nullptr;
    held_ = std::move(*opened);
  }
  return &*held_;
}

void FileCursor::Reset() {
  held_.reset();
  parent_.clear();
}

}  // namespace casemate::files
