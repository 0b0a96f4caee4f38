#include "cli/console.h"

namespace casemate::cli {

nlohmann::json FailedJson(const std::vector<EntryError>& entries) {
  auto list = nlohmann::json::array();
  for (const EntryError& each : entries) {
    list.push_back({{"path", each.path},
                    {"code", CodeName(each.error.code)},
                    {"message", each.error.message}});
  }
  return list;
}

nlohmann::json SkippedJson(const std::vector<SkippedPath>& entries) {
  auto list = nlohmann::json::array();
  for (const SkippedPath& each : entries) {
    list.push_back({{"path", each.path}, {"reason", each.reason}});
  }
  return list;
}

std::string Grouped(int64_t number) {
  std::string text = std::to_string(number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string Count(int64_t number, std::string_view singular,
                  std::string_view plural) {
  return Grouped(number) + " " + std::string(number == 1 ? singular : plural);
}

}  // namespace casemate::cli
