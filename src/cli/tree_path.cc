#include "cli/tree_path.h"

#include "base/try.h"

namespace casemate::cli {

Result<TreePath> ParseTreePath(std::string_view text) {
  const size_t first = text.find('/');
  const size_t second =
      first == text.npos ? text.npos : text.find('/', first + 1);
  ASSIGN_OR_RETURN(const Digest root, Digest::Parse(text.substr(0, second)));
  std::string_view path = second == text.npos ? "" : text.substr(second);
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return TreePath{root, std::string(path)};
}

}  // namespace casemate::cli
