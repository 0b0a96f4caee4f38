// Glob: one pattern of a Filter, compiled.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/result.h"

namespace casemate::tree {

// The language of docs/filters.md. Matching takes time bounded by the product
// of the lengths of pattern and path, whatever the pattern.
class Glob {
 public:
  // kInvalidArgument says what cannot be read.
  static Result<Glob> Parse(std::string_view pattern);

  // `path` is relative to the root: names joined by single slashes.
  bool Matches(std::string_view path, bool is_directory) const;

 private:
  // What one character must be; or, with `any_run`, any run of characters.
  struct Character {
    bool any_run = false;
    bool negated = false;
    std::vector<std::pair<char32_t, char32_t>> ranges;  // Inclusive.

    bool Accepts(char32_t character) const;
  };

  // What one name must be; or, with `any_run`, any run of names ("**").
  struct Name {
    bool any_run = false;
    std::vector<Character> characters;

    bool Accepts(std::string_view name) const;
  };

  static Result<Name> ParseName(std::string_view text);
  static Result<Character> ParseClass(std::string_view& rest);

  bool directories_only_ = false;
  std::vector<Name> names_;
};

}  // namespace casemate::tree
