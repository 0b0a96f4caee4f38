// Contexts of zstd, kept for the next stream: making one costs more than
// coding a small blob.
#pragma once

#include <array>
#include <cstddef>

#include "base/mutex.h"

namespace casemate::codec {

// Keeps at most kIdle contexts that nobody uses.
template <typename Context>
class ContextPool {
 public:
  ContextPool(Context* (*make)(), size_t (*destroy)(Context*))
      : make_(make), destroy_(destroy) {}

  // Null if memory is exhausted.
  Context* Take() EXCLUDES(mutex_) {
    {
      base::MutexLock lock(mutex_);
      if (count_ > 0) return idle_[--count_];
    }
    return make_();
  }

  void Return(Context* context) EXCLUDES(mutex_) {
    {
      base::MutexLock lock(mutex_);
      if (count_ < kIdle) {
        idle_[count_++] = context;
        return;
      }
    }
    destroy_(context);
  }

 private:
  static constexpr size_t kIdle = 8;

  Context* (*const make_)();
  size_t (*const destroy_)(Context*);
  base::Mutex mutex_;
  std::array<Context*, kIdle> idle_ GUARDED_BY(mutex_) = {};
  size_t count_ GUARDED_BY(mutex_) = 0;
};

}  // namespace casemate::codec
