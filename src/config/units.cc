#include "config/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

namespace casemate::config {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 6> kSizes = {{{"", 1},
                                         {"b", 1},
                                         {"kib", 1024.0},
                                         {"mib", 1024.0 * 1024},
                                         {"gib", 1024.0 * 1024 * 1024},
                                         {"tib", 1024.0 * 1024 * 1024 * 1024}}};
constexpr std::array<Unit, 4> kTimes = {
    {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& each : lower) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return lower;
}

// A number, perhaps spaces, one of `units`; rounded down to a whole.
Result<int64_t> Parse(std::string_view text, std::span<const Unit> units,
                      std::string_view hint) {
  const Error malformed{Code::kInvalidArgument,
                        "\"" + std::string(text) + "\" " + std::string(hint)};
  double value = 0;
  const auto [end, error] = std::from_chars(
      text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value) || value < 0) {
    return malformed;
  }
  std::string_view rest(end, static_cast<size_t>(text.end() - end));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::string name = Lower(rest);
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    const double whole = std::floor(value * unit.factor);
    if (whole >= std::ldexp(1.0, 63)) return malformed;
    return static_cast<int64_t>(whole);
  }
  return malformed;
}

}  // namespace

Result<int64_t> ParseSize(std::string_view text) {
  return Parse(text, kSizes, "is not a size; write it like 64MiB or 20GiB");
}

Result<std::chrono::seconds> ParseDuration(std::string_view text) {
  const auto seconds =
      Parse(text, kTimes, "is not a time; write it like 30s, 5min, 12h or 7d");
  if (!seconds) return seconds.error();
  return std::chrono::seconds(*seconds);
}

std::string FormatSize(int64_t bytes) {
  static constexpr std::array<const char*, 6> kNames = {"B",   "KiB", "MiB",
                                                        "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  const bool whole = unit == 0 || value >= 99.95;
  std::snprintf(text, sizeof text, "%.*f %s", whole ? 0 : 1, value,
                kNames[unit]);
  return text;
}

}  // namespace casemate::config
