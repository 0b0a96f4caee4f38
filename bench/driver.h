// The benchmark driver: rows whose arms take turns in one process, so that a
// machine whose speed drifts treats all of them alike.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace casemate::bench {

// One way to do a row's work. `run` does it once and returns the seconds (or
// whatever `Row::unit` says) that count; preparation is not timed.
struct Arm {
  std::string name;
  std::function<double()> run;
};

// What an arm came to, one value a round, in the order of the rounds.
struct ArmResult {
  std::string name;
  std::vector<double> values;
};

// `arm` must reach at most `bound` times `base`, by the median of the rounds'
// ratios; without a base, at most `bound` itself. With `at_least` the other way
// round.
struct Target {
  std::string arm;
  std::string base;  // Empty: absolute.
  double bound = 0;
  bool at_least = false;
};

struct RowResult {
  std::string name;
  std::string unit;
  std::vector<ArmResult> arms;
  std::vector<Target> targets;
};

// Runs each arm once to warm up and then `rounds` times, arm after arm.
RowResult RunArms(const std::string& name, const std::string& unit,
                  const std::vector<Arm>& arms, int rounds,
                  std::vector<Target> targets);

struct Options {
  int rounds = 5;
  bool smoke = false;   // Small inputs and one round: does it run at all?
  std::string program;  // Path of the casemate binary.
};

// A named group of rows, as they are chosen on the command line.
struct Benchmark {
  std::string name;
  std::string about;
  std::function<std::vector<RowResult>(const Options&)> run;
};

double Median(std::vector<double> values);

// The median over the rounds of value / base's value.
double PairedRatio(const ArmResult& arm, const ArmResult& base);

// Whether a row's target was reached, and by what.
struct Verdict {
  double value = 0;
  bool reached = false;
};
Verdict Judge(const RowResult& row, const Target& target);

std::string ToTable(const std::vector<RowResult>& rows);
std::string ToJson(const std::vector<RowResult>& rows);

// The seconds that `work` takes.
double Timed(const std::function<void()>& work);

}  // namespace casemate::bench
