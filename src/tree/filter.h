// Which entries of a tree take part: --include and --exclude.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "casemate/result.h"

namespace casemate::tree {

// Patterns in the manner of gitignore, tried in order, the last match wins:
//   *.o        any entry of that name, at any depth
//   /build     only at the root
//   build/     directories only
//   a/**/b     any number of directories between
//   ? [a-z]    one character, never '/'
// A directory that is excluded is not entered, so what lies below it cannot be
// included again. If there are only includes, all that matches none of them is
// excluded, directories excepted: they are entered in search of matches.
class Filter {
 public:
  struct Rule {
    bool include = false;
    std::string pattern;
  };

  Filter() = default;

  // kInvalidArgument names the pattern that cannot be read.
  static Result<Filter> Make(std::vector<Rule> rules);

  // Whether the entry at `path`, relative to the root, takes part.
  bool Takes(std::string_view path, bool is_directory) const;

 private:
  // Left to the implementation.
};

}  // namespace casemate::tree
