#include <utility>

#include "base/check.h"
#include "work/pool.h"

namespace casemate::work {

TaskGroup::TaskGroup(const Context& ctx, Pool& pool, int width)
    : outer_(ctx),
      pool_(pool),
      width_(width),
      inner_{ctx.deadline, source_.get_token()},
      forward_(ctx.stop, [this] { source_.request_stop(); }) {
  CASEMATE_CHECK(width > 0);
}

TaskGroup::~TaskGroup() {
  base::MutexLock lock(mutex_);
  Join();
}

Result<void> TaskGroup::Add(
    std::function<Result<void>(const Context&)> function) {
  {
    base::WakeOnStop wake(inner_, mutex_, changed_);
    base::MutexLock lock(mutex_);
    for (;;) {
      if (!first_) return first_;
      if (auto ok = outer_.Check(); !ok) return ok;
      if (running_ < width_) break;
      changed_.WaitUntil(mutex_, outer_.deadline);
    }
    ++running_;
  }
  pool_.Run([this, function = std::move(function)]() mutable {
    Result<void> result = inner_.Check();
    if (result) result = function(inner_);
    function = nullptr;  // What it holds must not outlive the group either.
    Finish(std::move(result));
  });
  return {};
}

Result<void> TaskGroup::Wait() {
  base::MutexLock lock(mutex_);
  Join();
  return first_ ? outer_.Check() : first_;
}

void TaskGroup::Join() {
  while (running_ > 0) changed_.Wait(mutex_);
}

// The stop request comes between two sections: it runs callbacks that take the
// lock, and once the function no longer counts as running, `this` may be gone.
void TaskGroup::Finish(Result<void> result) {
  if (!result) {
    {
      base::MutexLock lock(mutex_);
      if (first_) first_ = std::move(result);
    }
    source_.request_stop();
  }
  base::MutexLock lock(mutex_);
  --running_;
  changed_.NotifyAll();
}

}  // namespace casemate::work
