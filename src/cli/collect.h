// Keeping a local store below its size.
#pragma once

#include <cstdint>

#include "casemate/stores.h"
#include "cli/program.h"

namespace casemate::cli {

// 20 GiB, or a tenth of the disk that the store lies on if that is less.
int64_t DefaultMaxSize(const std::string& folder);

// After a push: collects if `disk` holds more than `max_size` (0: the default)
// and nobody else has it open; otherwise leaves it to a later push. Says what
// it removed. `disk` may be null.
void CollectAbove(const Session& session, DiskStore* disk, int64_t max_size);

}  // namespace casemate::cli
