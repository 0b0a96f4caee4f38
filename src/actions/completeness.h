// Whether everything that an action result speaks of is still there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "casemate/blob_store.h"
#include "casemate/bytes.h"
#include "casemate/context.h"
#include "casemate/digest.h"
#include "casemate/result.h"

namespace casemate::actions {

// Bounds on one result, so that a hostile one costs little: beyond them it
// counts as incomplete.
struct CompletenessLimits {
  int64_t max_tree_bytes = int64_t{256} << 20;  // Of one Tree or Directory.
  int64_t max_digests = 4'000'000;              // Looked up for one result.
  size_t max_directories = 200'000;  // Below root directories; 100 bytes each.
  size_t max_missing = 1000;         // Listed; the search ends there.
};

// The blobs that `result`, a serialized ActionResult, refers to and `store`
// lacks (rules ): output files, also inlined ones; stdout and
// stderr; each Tree and every file in it; for a root directory every Directory
// and every file below it. Empty: complete. Looking them up marks all of them
// as used. They come once each, in no order. A Tree or Directory that does not
// parse counts as missing. kInvalidArgument if `result` itself does not parse.
Result<std::vector<Digest>> MissingBlobs(const Context& ctx, BlobStore& store,
                                         DigestFunction function,
                                         const Bytes& result,
                                         const CompletenessLimits& limits = {});

}  // namespace casemate::actions
