// Rows about reading and digesting many files for many callers at once.
#pragma once

#include <string_view>
#include <vector>

#include "bench/driver.h"

namespace casemate::bench {

// Each set of files is shared out among 1, 4, 16 and 64 calls at once. For each
// case a row of the time for all, and one of the 99th percentile of a call.
std::vector<RowResult> ReadAndDigest(const Options& options);

// Only the cases whose name contains `part`.
std::vector<RowResult> ReadAndDigestPart(const Options& options,
                                         std::string_view part);

}  // namespace casemate::bench
