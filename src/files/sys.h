// The system calls of files/, all in one place, so that tests can watch them
// and make them fail. (Only realpath and getrandom are called elsewhere.)
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string_view>

struct statfs;

namespace casemate::files::sys {

// Each is the system call of that name: -1 and errno on failure. Repeated while
// it is interrupted by a signal (EINTR), Close excepted.
int OpenAt(int directory, const char* path, int flags, mode_t mode = 0);
int OpenAt2(int directory, const char* path, int flags, mode_t mode,
            uint64_t resolve);
int Close(int fd);
int Duplicate(int fd);
int FStat(int fd, struct stat& stat);
int FStatFs(int fd, struct statfs& stat);
int FStatAt(int directory, const char* path, struct stat& stat, int flags);
ssize_t ReadLinkAt(int directory, const char* path, char* buffer, size_t size);
ssize_t GetDents(int fd, void* buffer, size_t size);
off_t Seek(int fd, off_t offset);
ssize_t PRead(int fd, void* buffer, size_t size, off_t offset);
ssize_t PReadNoWait(int fd, void* buffer, size_t size, off_t offset);
void WillNeed(int fd, off_t offset, off_t length);
ssize_t PWrite(int fd, const void* buffer, size_t size, off_t offset);
int FTruncate(int fd, off_t size);
int FChmod(int fd, mode_t mode);
int FChmodAt(int directory, const char* path, mode_t mode);
int UTimensAt(int directory, const char* path, const timespec (&times)[2],
              int flags);
int FUTimens(int fd, const timespec (&times)[2]);
int MkdirAt(int directory, const char* path, mode_t mode);
int SymlinkAt(const char* target, int directory, const char* path);
int LinkAt(int directory, const char* path, int to_directory, const char* to);
int RenameAt2(int directory, const char* path, int to_directory, const char* to,
              unsigned flags);
int UnlinkAt(int directory, const char* path, int flags);
int FSync(int fd);
int FDataSync(int fd);
int SyncFs(int fd);
int Flock(int fd, int operation);

// Whether the kernel has openat2 and lets us use it. Asked once a process, and
// hidden from the FaultInjector.
bool HasOpenAt2();

// What a FaultInjector sees of a call.
struct Call {
  std::string_view name;  // "openat", "openat2", "fdatasync", "renameat2", …
  int fd = -1;            // The descriptor it works on, or AT_FDCWD.
  const char* path = "";  // Its (first) path, as given; "" if it has none.
};

// For tests: which call shall fail, and who wants to know of calls. A null
// function is not called. They run on the calling thread, from several at once
// if the test has several; their own calls here are neither seen nor failed.
struct FaultPlan {
  int64_t nth = 0;        // 1: the first call that counts. 0: none fails.
  int error = 5;          // EIO.
  bool for_good = false;  // All later calls that count fail as well.
  std::function<bool(const Call&)> counts = {};  // Null: every call counts.
  std::function<void(const Call&)> before = {};  // Before each call.
  std::function<void(const Call&)> done = {};    // After each that succeeded.
};

// While it lives, system calls follow its plan. A close that "fails" has closed
// all the same, as in Linux. One at a time; threads that use files/ must start
// after it or end before it does.
//
//   FaultInjector faults({.nth = 3, .error = ENOSPC});
//   FaultInjector synced({.done = [&](const Call& call) { … }});
class FaultInjector {
 public:
  explicit FaultInjector(FaultPlan plan);
  ~FaultInjector();
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  // Calls that counted so far, and whether one was made to fail.
  int64_t calls() const { return calls_; }
  bool fired() const { return fired_; }

  // For the functions above: the errno this call shall fail with, or 0.
  int Before(const Call& call);
  void Done(const Call& call);

 private:
  const FaultPlan plan_;
  std::atomic<int64_t> calls_ = 0;
  std::atomic<bool> fired_ = false;
};

}  // namespace casemate::files::sys
