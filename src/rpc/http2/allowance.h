// Allowance: how much of something a peer may do for nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "rpc/http2/timers.h"

namespace casemate::rpc::http2 {

// A bucket of tokens that fills up with time, and with what the peer does that
// is of use; never above its size.
class Allowance {
 public:
  Allowance(int64_t size, int64_t a_second)
      : size_(size), a_second_(a_second), left_(size) {}

  // False if it is used up.
  bool Take(Time now) {
    if (left_ == 0) Fill(now);
    if (left_ == 0) return false;
    --left_;
    return true;
  }

  void Earn(int64_t tokens) { left_ = std::min(size_, left_ + tokens); }

 private:
  // Only looks at the time when it has to.
  void Fill(Time now) {
    if (filled_ == Time{}) filled_ = now - std::chrono::seconds(1);
    const auto since =
        std::chrono::duration_cast<std::chrono::milliseconds>(now - filled_);
    const int64_t tokens =
        std::min<int64_t>(since.count(), 1'000'000) * a_second_ / 1000;
    if (tokens <= 0) return;
    filled_ = now;
    Earn(tokens);
  }

  const int64_t size_;
  const int64_t a_second_;
  int64_t left_;
  Time filled_{};
};

}  // namespace casemate::rpc::http2
