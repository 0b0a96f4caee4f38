// The row "confined open": what it costs to open a file below a root.
#pragma once

#include <vector>

#include "bench/driver.h"

namespace casemate::bench {

// Files five directories below the root, in memory.
std::vector<RowResult> ConfinedOpen(const Options& options);

}  // namespace casemate::bench
