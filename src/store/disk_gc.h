// What DiskStore::Gc and VerifyAll do once they have the store alone.
#pragma once

#include "base/clock.h"
#include "casemate/stores.h"
#include "files/root.h"
#include "store/blob_files.h"

namespace casemate::store {

Result<GcReport> CollectGarbage(const Context& ctx, const files::Root& root,
                                const base::Clock& clock,
                                const GcOptions& options);

// Removes the files that were moved aside.
Result<void> RemoveDamaged(const Context& ctx, const files::Root& root);

// Hashes every blob, on all cores.
Result<VerifyReport> VerifyBlobs(const Context& ctx, const files::Root& root,
                                 BlobFiles& blobs);

}  // namespace casemate::store
