// Admission: how many bytes of requests and answers are in memory at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "rpc/call.h"

namespace casemate::reapi {

// A bound on bytes in flight, for all calls of a server together. Whoever needs
// some takes them all in one request before it starts, so nobody waits while
// holding what another needs. A call that finds none free waits a little, in
// the order of arrival and without a thread, and is then refused: the server
// never grows instead. Safe from many threads; outlives its leases and turns.
class Admission {
 public:
  static constexpr std::chrono::milliseconds kPatience{5000};

  // Of bytes taken; gives them back when it ends, on any thread.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : admission_(std::exchange(other.admission_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { Release(); }

    int64_t bytes() const { return bytes_; }
    void Release();

    // Cuts off a lease of `bytes`, or of all there are if that is less.
    Lease Split(int64_t bytes);

   private:
    friend class Admission;
    Lease(Admission* admission, int64_t bytes)
        : admission_(admission), bytes_(bytes) {}

    Admission* admission_ = nullptr;
    int64_t bytes_ = 0;
  };

  class Turn;

  explicit Admission(int64_t capacity,
                     std::chrono::milliseconds patience = kPatience,
                     const base::Clock& clock = base::SystemClock());
  ~Admission();  // All leases have ended.

  // Without waiting; nullopt if they are not free or somebody waits already.
  // More than the capacity is cut to it, so that one item larger than all of it
  // passes alone.
  std::optional<Lease> TryTake(int64_t bytes) EXCLUDES(mutex_);

  int64_t capacity() const { return capacity_; }
  int64_t used() const EXCLUDES(mutex_);
  int64_t peak() const EXCLUDES(mutex_);  // The most that was ever used.
  size_t waiting() const EXCLUDES(mutex_);

 private:
  struct Waiter {
    int64_t bytes = 0;
    rpc::Waker wake;
    bool granted = false;
  };
  using Wakers = std::vector<rpc::Waker>;

  int64_t Cut(int64_t bytes) const { return std::min(bytes, capacity_); }
  void Take(int64_t bytes) REQUIRES(mutex_);
  Wakers Grant() REQUIRES(mutex_);
  void GiveBack(int64_t bytes) EXCLUDES(mutex_);

  const int64_t capacity_;
  const std::chrono::milliseconds patience_;
  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  int64_t used_ GUARDED_BY(mutex_) = 0;
  int64_t peak_ GUARDED_BY(mutex_) = 0;
  std::deque<Waiter*> waiters_ GUARDED_BY(mutex_);
};

// One call's place in the queue; a member of its handler, and used as that is.
class Admission::Turn {
 public:
  Turn(Admission& admission, rpc::Call& call)
      : admission_(admission), call_(call) {}
  ~Turn() { Leave(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  enum class Answer {
    kTaken,    // `lease` has them.
    kWait,     // The handler's OnWake asks again, for the same.
    kRefused,  // It has waited long enough: kResourceExhausted.
  };
  // Uses the call's waker and its WakeAfter while it waits.
  Answer Ask(int64_t bytes, Lease& lease);

  bool waiting() const { return waiter_ != nullptr; }

  // Does not ask any more.
  void Leave();

 private:
  Answer AskAgain(Lease& lease);
  Answer Queue(int64_t bytes, Lease& lease);

  Admission& admission_;
  rpc::Call& call_;
  std::unique_ptr<Waiter> waiter_;  // While it waits.
  std::chrono::steady_clock::time_point until_;
};

}  // namespace casemate::reapi
