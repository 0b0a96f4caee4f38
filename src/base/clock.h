// Time as a dependency, so that tests need not sleep.
#pragma once

#include <chrono>

namespace casemate::base {

// May be used from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::steady_clock::time_point Now() const = 0;
  virtual std::chrono::system_clock::time_point WallNow() const = 0;
};

// The machine's clocks; lives for ever.
const Clock& SystemClock();

}  // namespace casemate::base
