// Loop: the one thread of some connections, as their protocol sees it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "rpc/http2/counters.h"
#include "rpc/http2/output.h"
#include "rpc/http2/timers.h"

namespace casemate::rpc::http2 {

// Something that other threads hand to the loop.
class Posted {
 public:
  virtual void RunPosted() = 0;  // On the loop's thread.

 protected:
  ~Posted() = default;
};

// Something that collects what it has to send, and sends it when the turn ends.
class Flushed {
 public:
  virtual void Flush() = 0;

 protected:
  ~Flushed() = default;

 private:
  friend class Loop;
  bool touched_ = false;
};

// A turn is what happens between two waits: events, then what was posted, then
// timers, then one flush of each connection that was touched. AsioLoop turns
// when sockets have something; tests turn it by hand. All but Post belongs to
// the loop's thread.
class Loop {
 public:
  explicit Loop(const base::Clock& clock);
  virtual ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  bool InThread() const {
    return pthread_equal(thread_.load(std::memory_order_relaxed),
                         pthread_self()) != 0;
  }

  // Has it run soon, together with others; from any thread.
  void Post(Posted& posted) EXCLUDES(mutex_);

  void Touch(Flushed& flushed);
  void Forget(Flushed& flushed);  // It ends.

  Timers& timers() { return timers_; }
  Time now() const { return now_; }  // When this turn began.
  Counters& counters() { return counters_; }
  const Counters& counters() const { return counters_; }

  // For the flushes, one after the other; empty between them.
  Output& output() { return output_; }

 protected:
  // From now on this thread is the loop's.
  void Enter();

  void BeginTurn() { now_ = clock_.Now(); }
  void EndTurn() EXCLUDES(mutex_);

  // Waits until no thread is within Post any more. All calls have ended, so no
  // other begins.
  void AwaitPosters() const;

  // Has EndTurn called soon, from any thread.
  virtual void Wake() = 0;

 private:
  void RunPosted() EXCLUDES(mutex_);

  const base::Clock& clock_;
  std::atomic<pthread_t> thread_;
  Time now_;
  Timers timers_;
  Counters counters_;
  Output output_;
  std::vector<Flushed*> touched_;
  std::vector<Posted*> running_;  // Kept for its memory.

  std::atomic<int> posters_{0};
  base::Mutex mutex_;
  std::vector<Posted*> posted_ GUARDED_BY(mutex_);
};

}  // namespace casemate::rpc::http2
