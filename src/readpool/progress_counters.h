// What a ProgressFeed and its dispatch share.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "readpool/progress_feed.h"

namespace casemate::readpool {

struct ProgressFeed::Counters {
  std::atomic<int64_t> files_found = 0;
  std::atomic<int64_t> bytes_found = 0;
  std::atomic<bool> totals_known = false;
  std::atomic<int64_t> files_done = 0;
  std::atomic<int64_t> bytes_done = 0;
  std::atomic<int64_t> bytes_transferred = 0;
  std::atomic<bool> finished = false;
  std::function<void()> on_finish;  // Called once; null if nobody listens.

  Progress Snapshot() const;
};

}  // namespace casemate::readpool
