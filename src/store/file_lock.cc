#include "store/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "files/error.h"
#include "files/sys.h"

namespace casemate::store {
namespace {

namespace sys = files::sys;

int Operation(LockMode mode) {
  return mode == LockMode::kShared ? LOCK_SH : LOCK_EX;
}

}  // namespace

Result<files::Descriptor> OpenLockFile(const files::Directory& directory,
                                       const std::string& name) {
  constexpr int kFlags = O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int parent = directory.descriptor().get();
  int fd = sys::OpenAt(parent, name.c_str(), kFlags | O_RDWR, 0666);
  if (fd < 0 && (errno == EACCES || errno == EROFS)) {
    fd = sys::OpenAt(parent, name.c_str(), kFlags | O_RDONLY, 0666);
  }
  if (fd < 0) return files::SystemError(errno, "open", name);
  return files::Descriptor(fd);
}

Result<bool> TryLock(const files::Descriptor& file, LockMode mode) {
  if (sys::Flock(file.get(), Operation(mode) | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return files::SystemError(errno, "lock", "the store");
}

Result<void> WaitLock(const files::Descriptor& file, LockMode mode) {
  if (sys::Flock(file.get(), Operation(mode)) == 0) return {};
  return files::SystemError(errno, "lock", "the store");
}

Result<void> Unlock(const files::Descriptor& file) {
  if (sys::Flock(file.get(), LOCK_UN) == 0) return {};
  return files::SystemError(errno, "unlock", "the store");
}

}  // namespace casemate::store
