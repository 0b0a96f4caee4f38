// Which entries of a tree take part: --include and --exclude.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "casemate/result.h"
#include "tree/glob.h"

namespace casemate::tree {

// Patterns in the manner of gitignore, tried in order, the last match wins:
//   *.o        any entry of that name, at any depth
//   /build     only at the root
//   build/     directories only
//   a/**/b     any number of directories between
//   ? [a-z]    one character, never '/'
// A directory that is excluded is not entered, so what lies below it cannot be
// included again. If there are only includes, all that matches none of them is
// excluded; directories excepted: they are entered in search of matches, and
// one that matches brings all that lies below it. docs/filters.md has the rest.
class Filter {
 public:
  struct Rule {
    bool include = false;
    std::string pattern;
  };

  Filter() = default;

  // kInvalidArgument names the pattern that cannot be read.
  static Result<Filter> Make(std::vector<Rule> rules);

  // Whether it takes everything, so that nobody need ask.
  bool empty() const { return rules_.empty(); }

  // Whether the entry at `path`, relative to the root, takes part. Its parents
  // are known to.
  bool Takes(std::string_view path, bool is_directory) const;

 private:
  struct Compiled {
    bool include;
    Glob glob;
  };

  bool Included(std::string_view path) const;

  std::vector<Compiled> rules_;
  bool only_includes_ = false;
};

}  // namespace casemate::tree
