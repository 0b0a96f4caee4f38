// The exit codes of the program, which scripts rely on.
#pragma once

#include "casemate/result.h"

namespace casemate::cli {

enum Exit : int {
  kDone = 0,
  kDonePartly = 1,  // Every failed entry was named.
  kUsage = 2,
  kNotFound = 3,
  kIntegrity = 4,    // Bytes and digest disagree.
  kUnreachable = 5,  // Server unreachable, or gave up.
  kRefused = 6,      // Limits, confinement, permission.
  kInterrupted = 130,
};

Exit ExitCode(Code code);

}  // namespace casemate::cli
