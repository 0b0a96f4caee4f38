#include "bench/driver.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace casemate::bench {
namespace {

const ArmResult& Find(const RowResult& row, const std::string& name) {
  for (const ArmResult& arm : row.arms) {
    if (arm.name == name) return arm;
  }
  CASEMATE_CHECK(!"a target names an arm that the row has");
  return row.arms.front();
}

std::string Number(double value, const char* format = "%.4g") {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "1.31 × floor ≤ 1.4: reached".
std::string Describe(const RowResult& row, const Target& target) {
  const Verdict verdict = Judge(row, target);
  std::string text = Number(verdict.value, "%.2f");
  text += target.base.empty() ? " " + row.unit : " × " + target.base;
  text += target.at_least ? " ≥ " : " ≤ ";
  text += Number(target.bound);
  return text + (verdict.reached ? ": reached" : ": MISSED");
}

}  // namespace

double Median(std::vector<double> values) {
  CASEMATE_CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double PairedRatio(const ArmResult& arm, const ArmResult& base) {
  std::vector<double> ratios;
  for (size_t i = 0; i < arm.values.size(); ++i) {
    ratios.push_back(arm.values[i] / base.values[i]);
  }
  return Median(std::move(ratios));
}

Verdict Judge(const RowResult& row, const Target& target) {
  const ArmResult& arm = Find(row, target.arm);
  const double value = target.base.empty()
                           ? Median(arm.values)
                           : PairedRatio(arm, Find(row, target.base));
  return {value,
          target.at_least ? value >= target.bound : value <= target.bound};
}

RowResult RunArms(const std::string& name, const std::string& unit,
                  const std::vector<Arm>& arms, int rounds,
                  std::vector<Target> targets) {
  RowResult row{name, unit, {}, std::move(targets)};
  for (const Arm& arm : arms) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), arm.name.c_str());
    arm.run();
    row.arms.push_back({arm.name, {}});
  }
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < arms.size(); ++i) {
      row.arms[i].values.push_back(arms[i].run());
    }
  }
  return row;
}

std::string ToTable(const std::vector<RowResult>& rows) {
  std::string table =
      "| row | arm | median | min–max | target |\n"
      "|---|---|---|---|---|\n";
  for (const RowResult& row : rows) {
    for (const ArmResult& arm : row.arms) {
      const auto [low, high] = std::ranges::minmax(arm.values);
      std::string targets;
      for (const Target& target : row.targets) {
        if (target.arm != arm.name) continue;
        targets += (targets.empty() ? "" : "; ") + Describe(row, target);
      }
      table += "| " + row.name + " | " + arm.name + " | " +
               Number(Median(arm.values)) + " " + row.unit + " | " +
               Number(low) + "–" + Number(high) + " | " + targets + " |\n";
    }
  }
  return table;
}

std::string ToJson(const std::vector<RowResult>& rows) {
  auto list = nlohmann::json::array();
  for (const RowResult& row : rows) {
    nlohmann::json json = {{"row", row.name}, {"unit", row.unit}};
    for (const ArmResult& arm : row.arms) {
      json["arms"].push_back({{"arm", arm.name},
                              {"median", Median(arm.values)},
                              {"values", arm.values}});
    }
    for (const Target& target : row.targets) {
      const Verdict verdict = Judge(row, target);
      json["targets"].push_back({{"arm", target.arm},
                                 {"base", target.base},
                                 {"at_least", target.at_least},
                                 {"bound", target.bound},
                                 {"value", verdict.value},
                                 {"reached", verdict.reached}});
    }
    list.push_back(std::move(json));
  }
  return list.dump(2);
}

double Timed(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  return passed.count();
}

}  // namespace casemate::bench
