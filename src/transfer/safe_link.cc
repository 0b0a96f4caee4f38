#include "transfer/safe_link.h"

#include <string>

namespace casemate::transfer {
namespace {

Error Unsafe(std::string_view target, std::string_view why) {
  return {Code::kFailedPrecondition, "the link leads to \"" +
                                         std::string(target) + "\", which " +
                                         std::string(why)};
}

}  // namespace

Result<void> CheckLinkStaysInside(int depth, std::string_view target) {
  if (target.starts_with('/')) return Unsafe(target, "is absolute");
  int climbed = 0;
  bool descended = false;
  for (std::string_view rest = target; !rest.empty();) {
    const size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest = slash == rest.npos ? "" : rest.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      descended = true;
    } else if (descended) {
      return Unsafe(target, "climbs after it has descended");
    } else if (++climbed > depth) {
      return Unsafe(target, "leaves the tree");
    }
  }
  return {};
}

}  // namespace casemate::transfer
