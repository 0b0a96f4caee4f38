// Broken invariants of our own abort, with a sentence.
#pragma once

namespace casemate::base {

[[noreturn]] void CheckFailed(const char* file, int line, const char* what);

}  // namespace casemate::base

#define CASEMATE_CHECK(condition)                                    \
  do {                                                               \
    if (!(condition)) {                                              \
      ::casemate::base::CheckFailed(__FILE__, __LINE__, #condition); \
    }                                                                \
  } while (false)
