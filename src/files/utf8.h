// UTF-8, as far as names need it.
#pragma once

#include <cstddef>
#include <string_view>

namespace casemate::files {

// Valid UTF-8 (no surrogates, no overlong forms): what REAPI can carry.
bool IsUtf8(std::string_view text);

// The bytes of the character that `text`, which is not empty, begins with; 0 if
// it is none.
size_t Utf8Length(std::string_view text);

}  // namespace casemate::files
