#include "tree/glob.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/try.h"

namespace casemate::tree {
namespace {

constexpr char32_t kLastCharacter = 0x10FFFF;

Error Unreadable(std::string why) {
  return {Code::kInvalidArgument, std::move(why)};
}

int ContinuationBytes(unsigned char lead) {
  if (lead >= 0xF0) return 3;
  if (lead >= 0xE0) return 2;
  return lead >= 0xC0 ? 1 : 0;
}

// Takes one character of UTF-8 off `text`. A byte that begins none stands for
// itself, so that any name can be matched.
char32_t TakeCharacter(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const auto more = static_cast<size_t>(ContinuationBytes(lead));
  text.remove_prefix(1);
  if (more == 0 || text.size() < more) return lead;
  char32_t character = lead & (0x3Fu >> more);
  for (const char each : text.substr(0, more)) {
    const auto byte = static_cast<unsigned char>(each);
    if ((byte & 0xC0) != 0x80) return lead;
    character = character << 6 | (byte & 0x3F);
  }
  text.remove_prefix(more);
  return character;
}

class Characters {
 public:
  explicit Characters(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  char32_t Take() { return TakeCharacter(rest_); }

 private:
  std::string_view rest_;
};

class Names {
 public:
  explicit Names(std::string_view path) : rest_(path) {}
  bool done() const { return done_; }
  std::string_view Take() {
    const size_t slash = rest_.find('/');
    const std::string_view name = rest_.substr(0, slash);
    done_ = slash == std::string_view::npos;
    if (!done_) rest_.remove_prefix(slash + 1);
    return name;
  }

 private:
  std::string_view rest_;
  bool done_ = false;
};

// Whether `elements` match all of `items`. When something does not fit, only
// the last run is lengthened: earlier ones need not be, so nothing explodes.
template <typename Element, typename Items>
bool MatchAll(const std::vector<Element>& elements, Items items) {
  size_t at = 0;
  std::optional<std::pair<size_t, Items>> run;  // What follows the last run.
  while (at < elements.size() || !items.done()) {
    if (at < elements.size() && elements[at].any_run) {
      run.emplace(++at, items);
    } else if (at < elements.size() && !items.done() &&
               elements[at].Accepts(items.Take())) {
      ++at;
    } else if (run && !run->second.done()) {
      run->second.Take();
      at = run->first;
      items = run->second;
    } else {
      return false;
    }
  }
  return true;
}

// One character inside brackets, perhaps escaped.
Result<char32_t> TakeClassMember(std::string_view& rest) {
  if (rest.starts_with("[:")) {
    return Unreadable("classes such as [:alpha:] are not known");
  }
  if (rest.starts_with('\\')) rest.remove_prefix(1);
  if (rest.empty()) return Unreadable("a \"[\" is not closed");
  return TakeCharacter(rest);
}

}  // namespace

bool Glob::Character::Accepts(char32_t character) const {
  return negated != std::ranges::any_of(ranges, [&](const auto& range) {
           return range.first <= character && character <= range.second;
         });
}

bool Glob::Name::Accepts(std::string_view name) const {
  return MatchAll(characters, Characters(name));
}

bool Glob::Matches(std::string_view path, bool is_directory) const {
  return (is_directory || !directories_only_) && MatchAll(names_, Names(path));
}

// `rest` begins behind the opening bracket.
Result<Glob::Character> Glob::ParseClass(std::string_view& rest) {
  Character set;
  set.negated = rest.starts_with('!') || rest.starts_with('^');
  if (set.negated) rest.remove_prefix(1);
  do {  // A "]" that comes first is a member.
    ASSIGN_OR_RETURN(const char32_t first, TakeClassMember(rest));
    char32_t last = first;
    if (rest.size() > 1 && rest[0] == '-' && rest[1] != ']') {
      rest.remove_prefix(1);
      ASSIGN_OR_RETURN(last, TakeClassMember(rest));
    }
    if (first > last) return Unreadable("a range in \"[]\" runs backwards");
    set.ranges.emplace_back(first, last);
  } while (!rest.starts_with(']'));
  rest.remove_prefix(1);
  return set;
}

Result<Glob::Name> Glob::ParseName(std::string_view text) {
  if (text.empty()) return Unreadable("a name in it is empty");
  if (text == "." || text == "..") {
    return Unreadable("no entry is called \"" + std::string(text) + "\"");
  }
  Name name;
  if (text == "**") {
    name.any_run = true;
    return name;
  }
  while (!text.empty()) {
    Character next;
    const bool escaped = text.starts_with('\\');
    if (escaped) text.remove_prefix(1);
    if (text.empty()) return Unreadable("nothing follows the last \"\\\"");
    const char32_t character = TakeCharacter(text);
    if (!escaped && character == '*') {
      next.any_run = true;
    } else if (!escaped && character == '?') {
      next.ranges.emplace_back(0, kLastCharacter);
    } else if (!escaped && character == '[') {
      ASSIGN_OR_RETURN(next, ParseClass(text));
    } else {
      next.ranges.emplace_back(character, character);
    }
    name.characters.push_back(std::move(next));
  }
  return name;
}

Result<Glob> Glob::Parse(std::string_view pattern) {
  if (pattern.empty()) return Unreadable("it is empty");
  Glob glob;
  if (pattern.ends_with('/')) {
    glob.directories_only_ = true;
    pattern.remove_suffix(1);
  }
  const Name any_names{.any_run = true, .characters = {}};
  if (pattern.starts_with('/')) {
    pattern.remove_prefix(1);
  } else if (pattern.find('/') == std::string_view::npos) {
    glob.names_.push_back(any_names);  // At any depth.
  }
  for (Names names(pattern); !names.done();) {
    ASSIGN_OR_RETURN(Name name, ParseName(names.Take()));
    glob.names_.push_back(std::move(name));
  }
  if (glob.names_.back().any_run) {  // "a/**" is all below a, without a.
    ASSIGN_OR_RETURN(Name any_name, ParseName("*"));
    glob.names_.push_back(std::move(any_name));
  }
  return glob;
}

}  // namespace casemate::tree
