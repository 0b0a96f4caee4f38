// The row "try-get": a small blob of a disk store, read without waiting.
#pragma once

#include <vector>

#include "bench/driver.h"

namespace casemate::bench {

// 4 KiB blobs that are in the page cache and trusted.
std::vector<RowResult> TryGetFromDisk(const Options& options);

}  // namespace casemate::bench
