#include "work/pool.h"

#include <pthread.h>

#include <utility>

#include "base/check.h"

namespace casemate::work {

Pool::Pool(const char* name, int threads) {
  CASEMATE_CHECK(threads > 0);
  threads_.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
    pthread_setname_np(threads_.back().native_handle(), name);
  }
}

Pool::~Pool() {
  base::MutexLock lock(mutex_);
  stopping_ = true;
  filled_.NotifyAll();
}

void Pool::Run(std::function<void()> task) {
  base::MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  filled_.NotifyOne();
}

void Pool::Work() {
  for (;;) {
    std::function<void()> task;
    {
      base::MutexLock lock(mutex_);
      while (tasks_.empty() && !stopping_) filled_.Wait(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace casemate::work
