// What the system's error numbers mean, as codes and in words.
#pragma once

#include <string>
#include <string_view>

#include "casemate/result.h"

namespace casemate::files {

// The error of a failed system call: "open a/b: permission denied".
Error SystemError(int error, std::string_view doing, std::string_view entry);

Code CodeOf(int error);

// "permission denied" and the like.
std::string Words(int error);

// A name or path as it may stand on a terminal, one line whatever it holds:
// control characters and bytes that are not UTF-8 as \xNN, a backslash doubled.
std::string Escaped(std::string_view path);

// The same for a message: the middle of one that is longer than 512 bytes is
// left out.
std::string Printable(std::string_view path);

}  // namespace casemate::files
