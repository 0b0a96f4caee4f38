// Mutex, MutexLock, CondVar: the standard ones, annotated so that Clang checks
// which member is guarded by what (-Wthread-safety).
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "casemate/context.h"

#if defined(__clang__)
#define CASEMATE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define CASEMATE_THREAD_ANNOTATION(x)
#endif

// Abseil, which gRPC includes, has these two with the same meaning.
#undef GUARDED_BY
#undef NO_THREAD_SAFETY_ANALYSIS

#define CAPABILITY(x) CASEMATE_THREAD_ANNOTATION(capability(x))
#define SCOPED_CAPABILITY CASEMATE_THREAD_ANNOTATION(scoped_lockable)
#define GUARDED_BY(x) CASEMATE_THREAD_ANNOTATION(guarded_by(x))
#define REQUIRES(...) \
  CASEMATE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) CASEMATE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) CASEMATE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASE(...) CASEMATE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS \
  CASEMATE_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace casemate::base {

class CAPABILITY("mutex") Mutex {
 public:
  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits may end without a reason, so they stand in a loop over their condition.
class CondVar {
 public:
  void Wait(Mutex& mutex) REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    variable_.wait(lock);
    lock.release();
  }

  // Returns at the latest at `deadline`.
  void WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point deadline)
      REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    if (deadline == std::chrono::steady_clock::time_point::max()) {
      return Wait(mutex);  // max() overflows in some wait_until.
    }
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    variable_.wait_until(lock, deadline);
    lock.release();
  }

  void NotifyOne() { variable_.notify_one(); }
  void NotifyAll() { variable_.notify_all(); }

 private:
  std::condition_variable variable_;
};

// While it lives, a stop request on `ctx` wakes all who wait on `variable`. It
// must be made before `mutex` is locked and end after it is unlocked, because
// a request may run on this very thread and takes the mutex.
class WakeOnStop {
 public:
  WakeOnStop(const Context& ctx, Mutex& mutex, CondVar& variable)
      : callback_(ctx.stop, Wake{mutex, variable}) {}

 private:
  struct Wake {
    Mutex& mutex;
    CondVar& variable;
    void operator()() const {
      MutexLock lock(mutex);  // So that no waiter is between check and wait.
      variable.NotifyAll();
    }
  };
  std::stop_callback<Wake> callback_;
};

}  // namespace casemate::base
