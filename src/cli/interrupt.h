// Ctrl-C and SIGTERM as a stop request.
#pragma once

#include <stop_token>
#include <thread>

#include "casemate/context.h"

namespace casemate::cli {

// Made first in main, before other threads, because they inherit its signal
// mask. The first signal asks all work to stop and clean up; a second one ends
// the process at once, which the next run tidies up after.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  Context context() const { return {.stop = source_.get_token()}; }

 private:
  void Watch();

  std::stop_source source_;
  int signals_ = -1;
  int quit_ = -1;
  std::jthread watcher_;
};

}  // namespace casemate::cli
