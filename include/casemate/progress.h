// Watching a transfer.
#pragma once

#include <cstdint>

namespace casemate {

// How far a transfer has come. Sizes are uncompressed bytes.
struct Progress {
  int64_t files_found = 0;  // Known so far; grows until totals_known.
  int64_t bytes_found = 0;
  bool totals_known = false;
  int64_t files_done = 0;  // Read and digested, or written and verified.
  int64_t bytes_done = 0;
  int64_t bytes_transferred = 0;  // Really moved to or from the store.
  bool finished = false;          // The last call; made exactly once.
};

// Told how a transfer is coming along, at most once in 50 ms, on a thread that
// does no part of the transfer: a listener that blocks, sleeps or throws slows
// down nobody but itself. Calls to one listener never overlap.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  virtual void OnProgress(const Progress& progress) = 0;
};

}  // namespace casemate
