// Timers: what is to happen at a time, on one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace casemate::rpc::http2 {

using Time = std::chrono::steady_clock::time_point;

// Something that happens once, when it is due. Belongs to the thread of its
// Timers, and is cleared before it ends.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  virtual void OnTime() = 0;  // May set and clear timers, itself as well.

 protected:
  ~Timer();

 private:
  friend class Timers;
  static constexpr size_t kNowhere = SIZE_MAX;

  Time due_{};
  size_t place_ = kNowhere;
};

// A heap whose members know their places: setting and clearing allocate
// nothing, and most deadlines are cleared long before they are due.
class Timers {
 public:
  void Set(Timer& timer, Time due);  // Replaces an earlier time.
  void Clear(Timer& timer);          // Nothing if it is not set.

  // Time::max() if there is none.
  Time next() const { return heap_.empty() ? Time::max() : heap_[0]->due_; }

  // Runs all that are due by `now`.
  void Run(Time now);

  size_t size() const { return heap_.size(); }

 private:
  void Put(Timer* timer, size_t place);
  void Raise(Timer* timer, size_t place);
  void Sink(Timer* timer, size_t place);

  std::vector<Timer*> heap_;
};

}  // namespace casemate::rpc::http2
