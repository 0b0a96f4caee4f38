// Rows about the disk store alone: PutMany of 4,672 small blobs, durably.
#pragma once

#include <vector>

#include "bench/driver.h"

namespace casemate::bench {

std::vector<RowResult> PutManyToDisk(const Options& options);

}  // namespace casemate::bench
