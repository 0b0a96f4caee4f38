// FileCursor: opens files in the order of a listing, neighbours at little cost.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "files/directory.h"
#include "files/root.h"

namespace casemate::files {

// Of a file's costs, resolving its path from the root is a large one. For files
// of one directory that are opened one after another this does it once, and
// then opens names in the directory that it holds: a directory below the root,
// reached through no link, though perhaps moved since. What cannot be opened so
// is resolved anew from the root, whose answer counts.
//
// Hold on to it for moments only: Reset lets go of the directory. One thread.
class FileCursor {
 public:
  // As Root::OpenFile. `root` must be the same until Reset.
  Result<File> OpenFile(const Root& root, std::string_view path,
                        const Stat& expected);

  void Reset();

 private:
  const Directory* Hold(const Root& root, std::string_view parent);

  std::string parent_;             // Of the file opened last.
  std::optional<Directory> held_;  // That directory, from its second file on.
};

}  // namespace casemate::files
