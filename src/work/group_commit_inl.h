// The bodies of GroupCommit; included by group_commit.h alone.
#pragma once

#include "work/group_commit.h"

namespace casemate::work {

template <typename Item>
GroupCommit<Item>::GroupCommit(GroupCommitOptions options, Commit commit)
    : options_(options),
      commit_(std::move(commit)),
      free_slots_(options.slots) {
  CASEMATE_CHECK(options.slots > 0 && options.max_items > 0);
}

template <typename Item>
Result<void> GroupCommit<Item>::Run(const Context& ctx, Item& item,
                                    int64_t weight) {
  if (auto ok = ctx.Check(); !ok) return ok;
  Waiter self{&item, weight};
  if (TakeSlot()) {
    Item* const alone[] = {&item};
    commit_(alone);
    End({});
    return {};
  }
  const Result<bool> leads = Await(ctx, self);
  if (!leads) return leads.error();
  if (*leads) {
    const Group group = Gather(self);
    commit_(group.items);
    End(group);
  }
  return {};
}

template <typename Item>
typename GroupCommit<Item>::Counters GroupCommit<Item>::counters() const {
  base::MutexLock lock(mutex_);
  return counters_;
}

template <typename Item>
size_t GroupCommit<Item>::waiting() const {
  base::MutexLock lock(mutex_);
  return waiting_.size();
}

template <typename Item>
bool GroupCommit<Item>::TakeSlot() {
  base::MutexLock lock(mutex_);
  if (free_slots_ == 0) return false;
  --free_slots_;
  ++counters_.groups;
  ++counters_.items;
  return true;
}

// True when `self` has been given a slot, false when another committed it.
template <typename Item>
Result<bool> GroupCommit<Item>::Await(const Context& ctx, Waiter& self) {
  base::WakeOnStop wake(ctx, mutex_, self.changed);
  base::MutexLock lock(mutex_);
  waiting_.push_back(&self);
  counters_.most_waiting = std::max(counters_.most_waiting, waiting_.size());
  if (free_slots_ > 0) {  // One was freed since TakeSlot.
    --free_slots_;
    PassSlot();
  }
  while (self.state == Waiter::kWaiting) {
    if (auto ok = ctx.Check(); !ok) {
      std::erase(waiting_, &self);
      return std::move(ok).error();
    }
    self.changed.WaitUntil(mutex_, ctx.deadline);
  }
  if (self.state == Waiter::kLead) {
    auto ok = ctx.Check();
    if (ok) return true;
    PassSlot();
    return std::move(ok).error();
  }
  while (self.state != Waiter::kDone) self.changed.Wait(mutex_);
  return false;
}

template <typename Item>
typename GroupCommit<Item>::Group GroupCommit<Item>::Gather(
    const Waiter& leader) {
  Group group;
  group.items.push_back(leader.item);
  int64_t room = options_.max_weight - leader.weight;
  base::MutexLock lock(mutex_);
  while (!waiting_.empty() && group.items.size() < options_.max_items &&
         waiting_.front()->weight <= room) {
    Waiter& next = *waiting_.front();
    waiting_.pop_front();
    next.state = Waiter::kTaken;
    room -= next.weight;
    group.items.push_back(next.item);
    group.followers.push_back(&next);
  }
  ++counters_.groups;
  counters_.items += static_cast<int64_t>(group.items.size());
  return group;
}

template <typename Item>
void GroupCommit<Item>::End(const Group& group) {
  base::MutexLock lock(mutex_);
  PassSlot();
  for (Waiter* const follower : group.followers) {
    follower->state = Waiter::kDone;
    follower->changed.NotifyOne();
  }
}

// To the first that waits, who leaves the queue with it; else it is free.
template <typename Item>
void GroupCommit<Item>::PassSlot() {
  if (waiting_.empty()) {
    ++free_slots_;
    return;
  }
  Waiter& first = *waiting_.front();
  waiting_.pop_front();
  first.state = Waiter::kLead;
  first.changed.NotifyOne();
}

}  // namespace casemate::work
