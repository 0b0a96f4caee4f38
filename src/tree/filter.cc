#include "tree/filter.h"

#include <algorithm>

namespace casemate::tree {

Result<Filter> Filter::Make(std::vector<Rule> rules) {
  Filter filter;
  for (const Rule& rule : rules) {
    auto glob = Glob::Parse(rule.pattern);
    if (!glob) {
      return Wrap(glob.error(),
                  "cannot read the pattern \"" + rule.pattern + "\"");
    }
    filter.rules_.push_back({rule.include, std::move(*glob)});
  }
  filter.only_includes_ = std::ranges::all_of(rules, &Rule::include);
  return filter;
}

bool Filter::Takes(std::string_view path, bool is_directory) const {
  if (rules_.empty()) return true;
  if (only_includes_) return is_directory || Included(path);
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->glob.Matches(path, is_directory)) return rule->include;
  }
  return true;
}

// Whether an include matches the path itself or a directory above it.
bool Filter::Included(std::string_view path) const {
  for (size_t end = 0; end != std::string_view::npos;) {
    end = path.find('/', end + 1);
    const bool is_directory = end != std::string_view::npos;
    if (std::ranges::any_of(rules_, [&](const Compiled& rule) {
          return rule.glob.Matches(path.substr(0, end), is_directory);
        })) {
      return true;
    }
  }
  return false;
}

}  // namespace casemate::tree
