// One line that says how far a transfer is.
#pragma once

#include <string>
#include <string_view>

#include "casemate/progress.h"

namespace casemate::cli {

// What is known at one moment of a transfer.
struct ProgressView {
  Progress progress;
  double seconds = 0;  // Since the start.
  double rate = 0;     // Bytes per second, lately.
};

// "pushed 45%  1,234/4,400 files  12.3/27.0 MiB  120 MiB/s  0:03 left".
std::string PlainLine(std::string_view verb, const ProgressView& view);

// The same with a bar before it, cut to `columns`.
std::string BarLine(std::string_view verb, const ProgressView& view,
                    int columns);

// "0:03", "12:07", "3:00:05".
std::string FormatTime(double seconds);

}  // namespace casemate::cli
