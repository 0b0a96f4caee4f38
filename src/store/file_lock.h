// flock, as the disk store uses it: between processes, never within one.
#pragma once

#include <cstdint>
#include <string>

#include "casemate/result.h"
#include "files/directory.h"

namespace casemate::store {

enum class LockMode : uint8_t { kShared, kExclusive };

// Opens `name`, making it if it is missing; for reading alone where writing is
// not allowed.
Result<files::Descriptor> OpenLockFile(const files::Directory& directory,
                                       const std::string& name);

// Locks the open file, in place of any lock it has. False, and then it has
// none, if another process holds a lock that forbids it.
Result<bool> TryLock(const files::Descriptor& file, LockMode mode);

// The same, but waits.
Result<void> WaitLock(const files::Descriptor& file, LockMode mode);

Result<void> Unlock(const files::Descriptor& file);

}  // namespace casemate::store
