// Inspector: what an entry on disk is, and whether it takes part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "files/root.h"
#include "tree/filter.h"

namespace casemate::tree {

struct InspectorOptions {
  Filter filter = {};
  bool times_of_links = false;  // Needed, so links are asked for them.
  bool devices = false;         // The same for directories.
};

// Asks the filesystem only what the listing left open: of an entry that is
// excluded by its name nothing, of most directories and links nothing either.
class Inspector {
 public:
  // `root` must outlive it.
  Inspector(const files::Root& root, InspectorOptions options)
      : root_(root), options_(std::move(options)) {}

  // The stat of an entry of `directory`, or why there is none; nullopt if it
  // is excluded. Under Links::kFollow a link's stat is that of its target. Of
  // what need not be asked, only `kind` is set. `path` is that of the entry.
  std::optional<Result<files::Stat>> Inspect(const files::Directory& directory,
                                             const files::Entry& entry,
                                             const std::string& path) const;

 private:
  bool follows() const { return root_.links() == files::Links::kFollow; }
  bool KnowsKind(const files::Entry& entry) const;
  bool NeedsStat(files::Kind kind) const;
  Result<files::Stat> Stat(const files::Directory& directory,
                           const std::string& name,
                           const std::string& path) const;

  const files::Root& root_;
  const InspectorOptions options_;
};

}  // namespace casemate::tree
