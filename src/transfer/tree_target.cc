#include "transfer/tree_target.h"

#include <charconv>
#include <fstream>
#include <string>

#include "base/try.h"

namespace casemate::transfer {

Result<void> RestoreDirectoryBelow(const files::Root& root,
                                   std::string_view path,
                                   const tree::Properties& recorded) {
  ASSIGN_OR_RETURN(const files::Directory directory, root.OpenDirectory(path));
  if (recorded.mode) RETURN_IF_ERROR(directory.SetMode(*recorded.mode));
  if (recorded.mtime) RETURN_IF_ERROR(directory.SetModified(*recorded.mtime));
  return {};
}

uint32_t Umask() {
  // umask(2) can only be read by changing it, which other threads would see.
  static constexpr std::string_view kKey = "Umask:\t";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(kKey)) continue;
    uint32_t mask = 0;
    std::from_chars(line.data() + kKey.size(), line.data() + line.size(), mask,
                    8);
    return mask;
  }
  return 077;  // No /proc: rather too narrow than too wide.
}

}  // namespace casemate::transfer
