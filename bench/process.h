// What a run of the program itself costs.
#pragma once

#include <string>
#include <vector>

namespace casemate::bench {

struct Usage {
  double seconds = 0;      // On the wall.
  double cpu_seconds = 0;  // User and system.
  double peak_mib = 0;     // Resident.
};

// Runs it to its end; it must exit with 0. Its stdout is dropped.
//
// A process's peak counts what its parent had when it started it, so it is
// started by a small process of its own: this program again, as `Measure`.
Usage RunProgram(std::vector<std::string> arguments);

inline constexpr char kMeasureFlag[] = "--measure";
int Measure(const std::vector<std::string>& arguments);

}  // namespace casemate::bench
