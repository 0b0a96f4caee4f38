#include "casemate/context.h"

namespace casemate {

Result<void> Context::Check() const {
  if (stop.stop_requested()) return Error{Code::kCancelled, "cancelled"};
  if (deadline != std::chrono::steady_clock::time_point::max() &&
      std::chrono::steady_clock::now() >= deadline) {
    return Error{Code::kDeadlineExceeded, "the deadline has passed"};
  }
  return {};
}

}  // namespace casemate
