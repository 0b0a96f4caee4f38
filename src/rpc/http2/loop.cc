#include "rpc/http2/loop.h"

#include <sched.h>

#include <utility>

namespace casemate::rpc::http2 {

Loop::Loop(const base::Clock& clock)
    : clock_(clock), thread_(pthread_self()), now_(clock.Now()) {}

Loop::~Loop() = default;

void Loop::Enter() { thread_ = pthread_self(); }

// One wake for a whole batch, by whoever finds it empty. What was posted may
// run, and the last call end, before Wake has returned: see AwaitPosters.
void Loop::Post(Posted& posted) {
  posters_.fetch_add(1, std::memory_order_relaxed);
  bool first;
  {
    base::MutexLock lock(mutex_);
    first = posted_.empty();
    posted_.push_back(&posted);
  }
  if (first) Wake();
  posters_.fetch_sub(1, std::memory_order_release);
}

void Loop::AwaitPosters() const {
  while (posters_.load(std::memory_order_acquire) > 0) sched_yield();
}

void Loop::Touch(Flushed& flushed) {
  if (std::exchange(flushed.touched_, true)) return;
  touched_.push_back(&flushed);
}

void Loop::Forget(Flushed& flushed) {
  if (flushed.touched_) std::erase(touched_, &flushed);
}

void Loop::EndTurn() {
  RunPosted();
  timers_.Run(now_);
  while (!touched_.empty()) {
    Flushed& last = *touched_.back();
    touched_.pop_back();
    last.touched_ = false;
    last.Flush();
  }
}

void Loop::RunPosted() {
  {
    base::MutexLock lock(mutex_);
    running_.swap(posted_);
  }
  for (Posted* const posted : running_) posted->RunPosted();
  running_.clear();
}

}  // namespace casemate::rpc::http2
