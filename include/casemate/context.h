// How long a call may take, and how to stop it.
#pragma once

#include <chrono>
#include <stop_token>

#include "casemate/result.h"

namespace casemate {

// The first parameter of every call that may block. Cheap to copy. The default
// waits as long as it takes and cannot be stopped.
struct Context {
  std::chrono::steady_clock::time_point deadline =
      std::chrono::steady_clock::time_point::max();
  std::stop_token stop;

  // kCancelled once `stop` was requested, kDeadlineExceeded once `deadline`
  // has passed, otherwise success. Loops over blobs or blocks ask it each turn.
  Result<void> Check() const;
};

}  // namespace casemate
