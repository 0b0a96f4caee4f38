#include "base/clock.h"

namespace casemate::base {
namespace {

class Machine : public Clock {
 public:
  std::chrono::steady_clock::time_point Now() const override {
    return std::chrono::steady_clock::now();
  }
  std::chrono::system_clock::time_point WallNow() const override {
    return std::chrono::system_clock::now();
  }
};

}  // namespace

const Clock& SystemClock() {
  static const Machine machine;
  return machine;
}

}  // namespace casemate::base
