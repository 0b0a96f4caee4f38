#include "rpc/call_hub.h"

#include <pthread.h>

#include <algorithm>

#include "rpc/call_core.h"

namespace casemate::rpc {

uint32_t CallHub::ToTicks(std::chrono::milliseconds limit) {
  const auto ticks = (limit + kTick - std::chrono::milliseconds(1)) / kTick;
  return static_cast<uint32_t>(std::clamp<int64_t>(ticks, 0, int64_t{1} << 31));
}

CallHub::CallHub(work::Pool& pool, CallHubOptions options)
    : pool_(pool),
      options_(options),
      idle_ticks_(ToTicks(options.idle_limit)),
      start_(options.clock->Now()) {
  if (!options.thread) return;
  thread_ = std::jthread([this] { Loop(); });
  pthread_setname_np(thread_.native_handle(), "calls");
}

CallHub::~CallHub() {
  if (!options_.thread) Turn();
  WaitUntilEmpty(Time::max());
  base::MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

void CallHub::Post(std::function<void()> function) {
  base::MutexLock lock(mutex_);
  posted_.push_back(std::move(function));
  if (posted_.size() == 1) changed_.NotifyOne();
}

int64_t CallHub::calls() const {
  int64_t sum = 0;
  for (const Shard& shard : shards_) {
    base::MutexLock lock(shard.mutex);
    sum += shard.count;
  }
  return sum;
}

void CallHub::CancelAll(const Status& why) {
  closed_ = true;
  for (CallCore* const call : Collect([](const CallCore&) { return true; })) {
    call->Cancel(why);
    call->Unref();
  }
}

bool CallHub::WaitUntilEmpty(Time deadline) {
  waited_for_ = true;
  for (;;) {
    uint64_t seen;
    {
      base::MutexLock lock(mutex_);
      seen = removals_;
    }
    if (calls() == 0) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    base::MutexLock lock(mutex_);
    if (removals_ == seen) removed_.WaitUntil(mutex_, deadline);
  }
}

// ---- The calls' side.

CallHub::Shard& CallHub::ShardOf(const CallCore& call) {
  const auto address = reinterpret_cast<uintptr_t>(&call);
  return shards_[(address >> 6 ^ address >> 12) % shards_.size()];
}

void CallHub::Add(CallCore& call) {
  Shard& shard = ShardOf(call);
  base::MutexLock lock(shard.mutex);
  call.next_ = shard.first;
  if (shard.first != nullptr) shard.first->previous_ = &call;
  shard.first = &call;
  ++shard.count;
}

void CallHub::Remove(CallCore& call) {
  if (call.has_wake_) {
    base::MutexLock lock(mutex_);
    ClearWake(call);
  }
  Shard& shard = ShardOf(call);
  base::MutexLock lock(shard.mutex);
  (call.previous_ != nullptr ? call.previous_->next_ : shard.first) =
      call.next_;
  if (call.next_ != nullptr) call.next_->previous_ = call.previous_;
}

// The hub may be gone as soon as the shard is unlocked, so who waits for that
// is told before.
void CallHub::Forget(Shard& shard) {
  base::MutexLock lock(shard.mutex);
  --shard.count;
  if (!waited_for_) return;
  base::MutexLock waiters(mutex_);
  ++removals_;
  removed_.NotifyAll();
}

void CallHub::WakeAfter(CallCore& call, std::chrono::milliseconds delay) {
  base::MutexLock lock(mutex_);
  ClearWake(call);
  if (delay.count() <= 0) return;
  call.wake_at_ = clock().Now() + delay;
  const auto place = wakes_.emplace(call.wake_at_, &call).first;
  // The thread comes by at each tick anyway, and looks then.
  const bool soon = call.wake_at_ < start_ + tick() * kTick;
  if (place == wakes_.begin() && soon) changed_.NotifyOne();
}

void CallHub::ClearWake(CallCore& call) {
  wakes_.erase({call.wake_at_, &call});
}

// With a reference each, which the caller gives back.
template <typename Predicate>
std::vector<CallCore*> CallHub::Collect(Predicate predicate) {
  std::vector<CallCore*> found;
  for (Shard& shard : shards_) {
    base::MutexLock lock(shard.mutex);
    for (CallCore* call = shard.first; call != nullptr; call = call->next_) {
      if (!predicate(*call)) continue;
      call->Ref();
      found.push_back(call);
    }
  }
  return found;
}

// ---- The thread.

void CallHub::Loop() {
  for (;;) {
    {
      base::MutexLock lock(mutex_);
      if (posted_.empty()) {
        if (stopping_) return;
        Time until = start_ + tick() * kTick;
        if (!wakes_.empty()) until = std::min(until, wakes_.begin()->first);
        changed_.WaitUntil(mutex_, until);
      }
    }
    Turn();
  }
}

void CallHub::Turn() {
  const Time now = clock().Now();
  const uint32_t tick = TickAt(now);
  const bool ticked = tick_.exchange(tick, std::memory_order_relaxed) != tick;
  RunPosted();
  WakeDue(now);
  if (ticked) ExpireIdle(tick);
}

// From 1: 0 stands for never.
uint32_t CallHub::TickAt(Time now) const {
  return static_cast<uint32_t>((now - start_) / kTick) + 1;
}

void CallHub::RunPosted() {
  std::vector<std::function<void()>> posted;
  {
    base::MutexLock lock(mutex_);
    posted.swap(posted_);
  }
  for (auto& function : posted) std::exchange(function, nullptr)();
}

void CallHub::WakeDue(Time now) {
  std::vector<CallCore*> due;
  {
    base::MutexLock lock(mutex_);
    while (!wakes_.empty() && wakes_.begin()->first <= now) {
      CallCore* const call = wakes_.begin()->second;
      wakes_.erase(wakes_.begin());
      call->Ref();
      due.push_back(call);
    }
  }
  for (CallCore* const call : due) {
    call->Wake();
    call->Unref();
  }
}

void CallHub::ExpireIdle(uint32_t tick) {
  const auto late = [tick](const CallCore& call) { return call.Expired(tick); };
  for (CallCore* const call : Collect(late)) {
    call->Expire();
    call->Unref();
  }
}

}  // namespace casemate::rpc
