// Opening a disk store's folder.
#pragma once

#include <string>

#include "casemate/stores.h"
#include "files/root.h"

namespace casemate::store {

struct DiskFolder {
  files::Root root;
  files::Directory top;      // The same folder, held.
  files::Descriptor server;  // Locked shared, or exclusively by a server.
  files::Descriptor lock;    // Locked shared.
};

// Opens the folder, or makes it; see DiskStore::Open.
Result<DiskFolder> OpenDiskFolder(const std::string& path,
                                  const DiskStoreOptions& options);

// Turns the shared lock into an exclusive one, unless another process has the
// store open: kFailedPrecondition, and it is shared as before.
Result<void> LockAlone(const DiskFolder& folder);
Result<void> LockShared(const DiskFolder& folder);

}  // namespace casemate::store
