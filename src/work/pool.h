// Pool: a fixed number of threads. TaskGroup: work on it, joined in its scope.
#pragma once

#include <deque>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "casemate/context.h"

namespace casemate::work {

// Runs tasks in the order given. A task may block on I/O but never waits for
// another task of its own pool. The destructor runs what is queued, then joins.
class Pool {
 public:
  // `name` shows in debuggers (at most 15 bytes).
  Pool(const char* name, int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void Run(std::function<void()> task) EXCLUDES(mutex_);

  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  void Work() EXCLUDES(mutex_);

  base::Mutex mutex_;
  base::CondVar filled_;
  std::deque<std::function<void()>> tasks_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;
};

// Functions that run on a Pool and end together. The first error asks the
// others to stop, through the Context they are given, and is what Wait returns.
// The destructor waits too, so that nothing outlives the scope. Add and Wait
// belong to the thread that made it, which must not be one of the pool's.
class TaskGroup {
 public:
  // At most `width` functions are queued or running; Add waits beyond that.
  TaskGroup(const Context& ctx, Pool& pool, int width);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Fails, without running it, once the group has failed or `ctx` has ended.
  // One that was queued when that happened is not run either.
  Result<void> Add(std::function<Result<void>(const Context&)> function)
      EXCLUDES(mutex_);

  // Waits for all; the first error, or that of `ctx`.
  Result<void> Wait() EXCLUDES(mutex_);

  // What the functions get: stops when the group fails or the outer one does.
  const Context& context() const { return inner_; }

 private:
  void Finish(Result<void> result) EXCLUDES(mutex_);
  void Join() REQUIRES(mutex_);

  const Context outer_;
  Pool& pool_;
  const int width_;
  std::stop_source source_;
  const Context inner_;
  std::stop_callback<std::function<void()>> forward_;

  base::Mutex mutex_;
  base::CondVar changed_;
  int running_ GUARDED_BY(mutex_) = 0;
  Result<void> first_ GUARDED_BY(mutex_);
};

}  // namespace casemate::work
