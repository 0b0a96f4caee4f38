#include "tree/inspector.h"

namespace casemate::tree {

std::optional<Result<files::Stat>> Inspector::Inspect(
    const files::Directory& directory, const files::Entry& entry,
    const std::string& path) const {
  const bool kind_is_known = KnowsKind(entry);
  Result<files::Stat> stat = files::Stat{.kind = entry.kind};
  if (!kind_is_known) stat = Stat(directory, entry.name, path);
  const bool is_directory = stat && stat->kind == files::Kind::kDirectory;
  if (!options_.filter.Takes(path, is_directory)) return std::nullopt;
  if (kind_is_known && NeedsStat(entry.kind)) {
    return Stat(directory, entry.name, path);
  }
  return stat;
}

bool Inspector::KnowsKind(const files::Entry& entry) const {
  if (entry.kind == files::Kind::kSymlink) return !follows();
  return entry.kind != files::Kind::kUnknown;
}

bool Inspector::NeedsStat(files::Kind kind) const {
  switch (kind) {
    case files::Kind::kRegular: return true;
    case files::Kind::kDirectory: return options_.devices;
    case files::Kind::kSymlink: return options_.times_of_links;
    default: return false;
  }
}

Result<files::Stat> Inspector::Stat(const files::Directory& directory,
                                    const std::string& name,
                                    const std::string& path) const {
  auto stat = directory.StatEntry(name);
  const bool is_link = stat && stat->kind == files::Kind::kSymlink;
  return follows() && is_link ? root_.StatPath(path) : stat;
}

}  // namespace casemate::tree
