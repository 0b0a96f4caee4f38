// GroupCommit: arrivals gather while all slots are busy, and leave together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "casemate/context.h"

namespace casemate::work {

struct GroupCommitOptions {
  int slots = 1;                // Groups under way at once; at least 1.
  size_t max_items = SIZE_MAX;  // In one group.
  int64_t max_weight =
      INT64_MAX;  // In one group; one item may exceed it alone.
};

// Gathers independent callers without a timer. A caller that finds a free slot
// leaves at once, alone, and runs the group function on its own thread; while
// all slots are busy, arrivals gather in order; when a slot frees, the first of
// them takes it and everything that gathered, up to the limits. So a lone
// caller never waits, and the busier it is the larger the groups. (The scheme
// of write groups in RocksDB and of group commit in databases.)
//
// A drain is linear in what it takes. Run may be called from any thread.
template <typename Item>
class GroupCommit {
 public:
  // `commit` gets the group's items and puts each one's outcome into it; it is
  // called without a lock held, from up to `slots` threads at once.
  using Commit = std::function<void(std::span<Item* const>)>;

  GroupCommit(GroupCommitOptions options, Commit commit);

  // Returns when a group with `item` has been committed. `item` stays with the
  // caller. kCancelled or kDeadlineExceeded only while it has not left: it is
  // then withdrawn; one that has left is waited for.
  Result<void> Run(const Context& ctx, Item& item, int64_t weight = 1)
      EXCLUDES(mutex_);

  struct Counters {
    int64_t groups = 0;
    int64_t items = 0;
    size_t most_waiting = 0;
  };
  Counters counters() const EXCLUDES(mutex_);

  // Items that gather now.
  size_t waiting() const EXCLUDES(mutex_);

 private:
  // Lives on its caller's stack: one that is kDone may be gone as soon as the
  // lock is.
  struct Waiter {
    Item* item;
    int64_t weight;
    enum { kWaiting, kLead, kTaken, kDone } state = kWaiting;
    base::CondVar changed{};
  };
  struct Group {
    std::vector<Waiter*> followers;
    std::vector<Item*> items;  // The leader's first.
  };

  bool TakeSlot() EXCLUDES(mutex_);
  Result<bool> Await(const Context& ctx, Waiter& self) EXCLUDES(mutex_);
  Group Gather(const Waiter& leader) EXCLUDES(mutex_);
  void End(const Group& group) EXCLUDES(mutex_);
  void PassSlot() REQUIRES(mutex_);

  const GroupCommitOptions options_;
  const Commit commit_;
  mutable base::Mutex mutex_;
  int free_slots_ GUARDED_BY(mutex_);  // None while anyone waits.
  std::deque<Waiter*> waiting_ GUARDED_BY(mutex_);
  Counters counters_ GUARDED_BY(mutex_);
};

}  // namespace casemate::work

#include "work/group_commit_inl.h"
