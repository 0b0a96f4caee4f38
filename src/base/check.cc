#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace casemate::base {

void CheckFailed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "casemate: %s:%d: this must hold: %s\n", file, line,
               what);
  std::abort();
}

}  // namespace casemate::base
