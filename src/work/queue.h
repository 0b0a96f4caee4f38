// A bounded queue between threads.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "casemate/context.h"

namespace casemate::work {

// Many producers, many consumers. Close ends it: Push then refuses, Pop drains
// what is left and then says nothing.
template <typename T>
class Queue {
 public:
  explicit Queue(size_t capacity) : capacity_(capacity) {}

  // Waits for room. kFailedPrecondition once closed, or as ctx says.
  Result<void> Push(const Context& ctx, T item) EXCLUDES(mutex_) {
    base::WakeOnStop wake(ctx, mutex_, room_);
    base::MutexLock lock(mutex_);
    while (!closed_ && items_.size() >= capacity_) {
      if (auto ok = ctx.Check(); !ok) return ok;
      room_.WaitUntil(mutex_, ctx.deadline);
    }
    if (closed_) return Error{Code::kFailedPrecondition, "the queue is closed"};
    items_.push_back(std::move(item));
    filled_.NotifyOne();
    return {};
  }

  // Waits for an item; nullopt once closed and empty, or as ctx says.
  Result<std::optional<T>> Pop(const Context& ctx) EXCLUDES(mutex_) {
    base::WakeOnStop wake(ctx, mutex_, filled_);
    base::MutexLock lock(mutex_);
    while (items_.empty() && !closed_) {
      if (auto ok = ctx.Check(); !ok) return ok.error();
      filled_.WaitUntil(mutex_, ctx.deadline);
    }
    if (items_.empty()) return std::optional<T>();
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    room_.NotifyOne();
    return item;
  }

  void Close() EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    closed_ = true;
    room_.NotifyAll();
    filled_.NotifyAll();
  }

 private:
  const size_t capacity_;
  base::Mutex mutex_;
  base::CondVar room_;
  base::CondVar filled_;
  std::deque<T> items_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace casemate::work
