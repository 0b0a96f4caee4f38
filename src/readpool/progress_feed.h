// Progress from busy threads to listeners that may be slow.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "casemate/progress.h"

namespace casemate::readpool {

class ProgressDispatch;

// One transfer's counters. Adding is a relaxed atomic addition and may be done
// from any thread; nobody ever runs a listener there.
class ProgressFeed {
 public:
  void AddFound(int64_t files, int64_t bytes);
  void SetTotalsKnown();
  void AddDone(int64_t files, int64_t bytes);
  void AddTransferred(int64_t bytes);

  // The last snapshot, `finished` set, will reach the listener even if it is
  // busy now. Does not wait for it.
  void Finish();

  Progress Snapshot() const;

 private:
  // Left to the implementation.
};

// Carries snapshots to listeners: one coalescing slot a feed (a newer snapshot
// replaces one not yet taken), a bounded set of threads, at most one call in
// `interval` and listener, the last one never lost. The threads start with the
// first feed. A listener that is still busy when the dispatch is destroyed is
// waited for; one that blocks for ever would block its own thread's end, so
// the destructor gives it up after a second and leaves the thread to the
// process's end.
class ProgressDispatch {
 public:
  explicit ProgressDispatch(
      int max_threads = 4,
      std::chrono::milliseconds interval = std::chrono::milliseconds(50),
      const base::Clock& clock = base::SystemClock());
  ~ProgressDispatch();

  // `listener` may be null: the feed then only counts.
  std::shared_ptr<ProgressFeed> NewFeed(
      std::shared_ptr<ProgressListener> listener);
};

}  // namespace casemate::readpool
