// Nanoseconds since the epoch as the system's pair of times.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <ctime>

namespace casemate::files {

// What utimensat takes: access, then modification.
struct TimePair {
  timespec times[2];
};

inline timespec ToTimespec(int64_t nanoseconds) {
  int64_t seconds = nanoseconds / 1'000'000'000;
  int64_t rest = nanoseconds % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --seconds;
  }
  return {static_cast<time_t>(seconds), static_cast<long>(rest)};
}

inline TimePair ModifiedAt(int64_t nanoseconds) {
  return {{{0, UTIME_OMIT}, ToTimespec(nanoseconds)}};
}

inline TimePair AccessedAt(int64_t nanoseconds) {
  return {{ToTimespec(nanoseconds), {0, UTIME_OMIT}}};
}

}  // namespace casemate::files
