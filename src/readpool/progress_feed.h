// Progress from busy threads to listeners that may be slow.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "casemate/progress.h"

namespace casemate::readpool {

class ProgressDispatch;

// One transfer's counters. Adding is a relaxed atomic addition and may be done
// from any thread; nobody ever runs a listener there.
class ProgressFeed {
 public:
  // Finishes, if nobody has done it.
  ~ProgressFeed();
  ProgressFeed(const ProgressFeed&) = delete;
  ProgressFeed& operator=(const ProgressFeed&) = delete;

  void AddFound(int64_t files, int64_t bytes);
  void SetTotalsKnown();
  void AddDone(int64_t files, int64_t bytes);
  void AddTransferred(int64_t bytes);

  // The last snapshot, `finished` set, will reach the listener even if it is
  // busy now. Does not wait for it. Nothing is added afterwards.
  void Finish();

  Progress Snapshot() const;

 private:
  friend class ProgressDispatch;
  struct Counters;
  explicit ProgressFeed(std::shared_ptr<Counters> counters);

  const std::shared_ptr<Counters> counters_;
};

// Carries snapshots to listeners: one coalescing slot a feed (its counters: a
// newer snapshot replaces one not yet taken), a bounded set of threads, at most
// one call in `interval` and listener, none without news, the last one never
// lost. The threads start as they are needed: one keeps watch, and one more for
// each listener that is slow just now. Listeners that block for ever harm the
// others only once they are `max_threads`.
//
// The destructor delivers last snapshots that are still due and waits until the
// listeners have returned, for `patience` at most. A thread cannot be torn out
// of a listener that blocks for ever; it is then left behind, with the feed and
// the listener that it holds, and touches nothing else any more.
class ProgressDispatch {
 public:
  explicit ProgressDispatch(
      int max_threads = 32,
      std::chrono::milliseconds interval = std::chrono::milliseconds(50),
      const base::Clock& clock = base::SystemClock(),
      std::chrono::milliseconds patience = std::chrono::seconds(1));
  ~ProgressDispatch();
  ProgressDispatch(const ProgressDispatch&) = delete;
  ProgressDispatch& operator=(const ProgressDispatch&) = delete;

  // `listener` may be null: the feed then only counts. Feeds may outlive the
  // dispatch, unheard.
  std::shared_ptr<ProgressFeed> NewFeed(
      std::shared_ptr<ProgressListener> listener);

 private:
  struct State;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<State> state_;  // Shared with threads left behind.
};

}  // namespace casemate::readpool
