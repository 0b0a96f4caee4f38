#include "files/sys.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/check.h"

namespace casemate::files::sys {
namespace {

std::atomic<FaultInjector*> installed = nullptr;

// Set while a test's function runs, whose own calls are left alone.
thread_local bool inside_hook = false;

template <typename Function>
auto Watched(FaultInjector& injector, const Call& call, Function function)
    -> decltype(function()) {
  const int error = injector.Before(call);
  if (error != 0) {
    if (call.name == "close") function();
    errno = error;
    return -1;
  }
  const auto result = function();
  if (result >= 0) injector.Done(call);
  return result;
}

template <typename Function>
auto Once(const Call& call, Function function) -> decltype(function()) {
  FaultInjector* const injector = installed.load(std::memory_order_acquire);
  if (injector == nullptr || inside_hook) [[likely]]
    return function();
  return Watched(*injector, call, function);
}

template <typename Function>
auto Run(const Call& call, Function function) -> decltype(function()) {
  for (;;) {
    const auto result = Once(call, function);
    if (result >= 0 || errno != EINTR) return result;
  }
}

int RawOpenAt2(int directory, const char* path, int flags, mode_t mode,
               uint64_t resolve) {
  open_how how = {};
  how.flags = static_cast<uint64_t>(static_cast<unsigned>(flags));
  how.mode = mode;
  how.resolve = resolve;
  return static_cast<int>(
      ::syscall(SYS_openat2, directory, path, &how, sizeof(how)));
}

}  // namespace

int OpenAt(int directory, const char* path, int flags, mode_t mode) {
  return Run({"openat", directory, path},
             [&] { return ::openat(directory, path, flags, mode); });
}

int OpenAt2(int directory, const char* path, int flags, mode_t mode,
            uint64_t resolve) {
  return Run({"openat2", directory, path},
             [&] { return RawOpenAt2(directory, path, flags, mode, resolve); });
}

int Close(int fd) {
  return Once({"close", fd}, [&] { return ::close(fd); });
}

int Duplicate(int fd) {
  return Run({"fcntl", fd}, [&] { return ::fcntl(fd, F_DUPFD_CLOEXEC, 0); });
}

int FStat(int fd, struct stat& stat) {
  return Run({"fstat", fd}, [&] { return ::fstat(fd, &stat); });
}

int FStatFs(int fd, struct statfs& stat) {
  return Run({"fstatfs", fd}, [&] { return ::fstatfs(fd, &stat); });
}

int FStatAt(int directory, const char* path, struct stat& stat, int flags) {
  return Run({"fstatat", directory, path},
             [&] { return ::fstatat(directory, path, &stat, flags); });
}

ssize_t ReadLinkAt(int directory, const char* path, char* buffer, size_t size) {
  return Run({"readlinkat", directory, path},
             [&] { return ::readlinkat(directory, path, buffer, size); });
}

ssize_t GetDents(int fd, void* buffer, size_t size) {
  return Run({"getdents64", fd}, [&] {
    return static_cast<ssize_t>(::syscall(SYS_getdents64, fd, buffer, size));
  });
}

off_t Seek(int fd, off_t offset) {
  return Run({"lseek", fd}, [&] { return ::lseek(fd, offset, SEEK_SET); });
}

ssize_t PRead(int fd, void* buffer, size_t size, off_t offset) {
  return Run({"pread", fd}, [&] { return ::pread(fd, buffer, size, offset); });
}

ssize_t PReadNoWait(int fd, void* buffer, size_t size, off_t offset) {
  return Run({"preadv2", fd}, [&] {
    const iovec part = {buffer, size};
    return ::preadv2(fd, &part, 1, offset, RWF_NOWAIT);
  });
}

void WillNeed(int fd, off_t offset, off_t length) {
  Once({"fadvise64", fd}, [&] {
    return ::posix_fadvise(fd, offset, length, POSIX_FADV_WILLNEED);
  });
}

ssize_t PWrite(int fd, const void* buffer, size_t size, off_t offset) {
  return Run({"pwrite", fd},
             [&] { return ::pwrite(fd, buffer, size, offset); });
}

int FTruncate(int fd, off_t size) {
  return Run({"ftruncate", fd}, [&] { return ::ftruncate(fd, size); });
}

int FChmod(int fd, mode_t mode) {
  return Run({"fchmod", fd}, [&] { return ::fchmod(fd, mode); });
}

int FChmodAt(int directory, const char* path, mode_t mode) {
  return Run({"fchmodat", directory, path},
             [&] { return ::fchmodat(directory, path, mode, 0); });
}

int UTimensAt(int directory, const char* path, const timespec (&times)[2],
              int flags) {
  return Run({"utimensat", directory, path},
             [&] { return ::utimensat(directory, path, times, flags); });
}

int FUTimens(int fd, const timespec (&times)[2]) {
  return Run({"futimens", fd}, [&] { return ::futimens(fd, times); });
}

int MkdirAt(int directory, const char* path, mode_t mode) {
  return Run({"mkdirat", directory, path},
             [&] { return ::mkdirat(directory, path, mode); });
}

int SymlinkAt(const char* target, int directory, const char* path) {
  return Run({"symlinkat", directory, path},
             [&] { return ::symlinkat(target, directory, path); });
}

int LinkAt(int directory, const char* path, int to_directory, const char* to) {
  return Run({"linkat", directory, path},
             [&] { return ::linkat(directory, path, to_directory, to, 0); });
}

int RenameAt2(int directory, const char* path, int to_directory, const char* to,
              unsigned flags) {
  return Run({"renameat2", directory, path}, [&] {
    return ::renameat2(directory, path, to_directory, to, flags);
  });
}

int UnlinkAt(int directory, const char* path, int flags) {
  return Run({"unlinkat", directory, path},
             [&] { return ::unlinkat(directory, path, flags); });
}

int FSync(int fd) {
  return Run({"fsync", fd}, [&] { return ::fsync(fd); });
}

int FDataSync(int fd) {
  return Run({"fdatasync", fd}, [&] { return ::fdatasync(fd); });
}

int SyncFs(int fd) {
  return Run({"syncfs", fd}, [&] { return ::syncfs(fd); });
}

int Flock(int fd, int operation) {
  return Run({"flock", fd}, [&] { return ::flock(fd, operation); });
}

bool HasOpenAt2() {
  // A kernel that has it gets as far as looking at the descriptor, which is
  // none, or finds no free slot for the new one. A filter may answer anything.
  static const bool has = [] {
    const uint64_t resolve =
        RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    RawOpenAt2(-1, ".", O_PATH | O_CLOEXEC, 0, resolve);
    return errno == EBADF || errno == EMFILE || errno == ENFILE;
  }();
  return has;
}

FaultInjector::FaultInjector(FaultPlan plan) : plan_(std::move(plan)) {
  FaultInjector* none = nullptr;
  CASEMATE_CHECK(installed.compare_exchange_strong(none, this));
}

FaultInjector::~FaultInjector() { installed.store(nullptr); }

int FaultInjector::Before(const Call& call) {
  inside_hook = true;
  if (plan_.before) plan_.before(call);
  const bool counts = !plan_.counts || plan_.counts(call);
  inside_hook = false;
  if (!counts) return 0;
  const int64_t number = ++calls_;
  const bool fails = plan_.nth > 0 && (number == plan_.nth ||
                                       (plan_.for_good && number > plan_.nth));
  if (!fails) return 0;
  fired_ = true;
  return plan_.error;
}

void FaultInjector::Done(const Call& call) {
  const int error = errno;
  inside_hook = true;
  if (plan_.done) plan_.done(call);
  inside_hook = false;
  errno = error;
}

}  // namespace casemate::files::sys
