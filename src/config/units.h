// Sizes and times as people write them in flags, environment and files.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "casemate/result.h"

namespace casemate::config {

// "64MiB", "1.5 GiB", "4096", "4096B": bytes; B, KiB, MiB, GiB, TiB, in either
// case. Not negative, below 2^63. kInvalidArgument says what would be right.
Result<int64_t> ParseSize(std::string_view text);

// "30s", "5min", "12h", "7d": whole seconds; s, min, h, d; a bare number is
// refused, because nobody knows what it means.
Result<std::chrono::seconds> ParseDuration(std::string_view text);

// "64 MiB", "1.5 GiB", "312 B": at most one decimal.
std::string FormatSize(int64_t bytes);

}  // namespace casemate::config
