// CallHub: what all calls of one server share.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "rpc/status.h"
#include "work/pool.h"

namespace casemate::rpc {

class CallCore;
class CallObserver;

struct CallHubOptions {
  std::chrono::milliseconds idle_limit{0};  // See Call::SetIdleLimit.
  CallObserver* observer = nullptr;
  const base::Clock* clock = &base::SystemClock();
  bool thread = true;  // False: the owner calls Turn, as tests do.
};

// Knows the calls that run, and has the one thread that looks after them: it
// wakes those that asked for it, and ends those whose peer is idle. A call that
// asks for neither pays for two list operations under a lock that it shares
// with few others. All methods may be called from any thread.
class CallHub {
 public:
  // Idle limits are kept in ticks, so that nobody has to read a clock for each
  // message: a call is ended between the limit and two ticks after it.
  static constexpr std::chrono::milliseconds kTick{100};
  static uint32_t ToTicks(std::chrono::milliseconds limit);

  // `pool` runs what calls offload; it, the clock and the observer outlive the
  // hub.
  CallHub(work::Pool& pool, CallHubOptions options);
  ~CallHub();  // Waits until all calls are gone.

  work::Pool& pool() { return pool_; }
  const base::Clock& clock() const { return *options_.clock; }
  CallObserver* observer() const { return options_.observer; }
  uint32_t idle_ticks() const { return idle_ticks_; }
  uint32_t tick() const { return tick_.load(std::memory_order_relaxed); }

  // Runs `function` on the hub's thread, soon; in the order given.
  void Post(std::function<void()> function) EXCLUDES(mutex_);

  int64_t calls() const;

  // Ends all calls, and those that are still to begin.
  void CancelAll(const Status& why);
  bool closed() const { return closed_; }

  // Whether all calls had ended by then.
  bool WaitUntilEmpty(std::chrono::steady_clock::time_point deadline)
      EXCLUDES(mutex_);

  // What the thread does each time it wakes up: runs what was posted, wakes
  // whose time has come, and, once a tick, ends what was idle too long.
  void Turn() EXCLUDES(mutex_);

 private:
  friend class CallCore;
  using Time = std::chrono::steady_clock::time_point;

  // Calls spread over several lists, so that their threads rarely meet.
  struct alignas(64) Shard {
    mutable base::Mutex mutex;
    CallCore* first GUARDED_BY(mutex) = nullptr;
    int64_t count GUARDED_BY(mutex) = 0;  // Of those not deleted yet.
  };

  void Add(CallCore& call);
  void Remove(CallCore& call) EXCLUDES(mutex_);  // It is over,
  void Forget(Shard& shard) EXCLUDES(mutex_);    // and deleted.
  void WakeAfter(CallCore& call, std::chrono::milliseconds delay)
      EXCLUDES(mutex_);
  Shard& ShardOf(const CallCore& call);
  void ClearWake(CallCore& call) REQUIRES(mutex_);
  template <typename Predicate>
  std::vector<CallCore*> Collect(Predicate predicate);

  void Loop() EXCLUDES(mutex_);
  uint32_t TickAt(Time now) const;
  void RunPosted() EXCLUDES(mutex_);
  void WakeDue(Time now) EXCLUDES(mutex_);
  void ExpireIdle(uint32_t tick);

  work::Pool& pool_;
  const CallHubOptions options_;
  const uint32_t idle_ticks_;
  const Time start_;
  std::atomic<uint32_t> tick_{1};
  std::atomic<bool> closed_{false};
  std::atomic<bool> waited_for_{false};
  std::array<Shard, 16> shards_;

  base::Mutex mutex_;
  base::CondVar changed_;  // For the thread.
  base::CondVar removed_;  // For WaitUntilEmpty.
  std::vector<std::function<void()>> posted_ GUARDED_BY(mutex_);
  std::set<std::pair<Time, CallCore*>> wakes_ GUARDED_BY(mutex_);
  uint64_t removals_ GUARDED_BY(mutex_) = 0;  // While somebody waits.
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace casemate::rpc
