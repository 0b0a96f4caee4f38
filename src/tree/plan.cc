#include "tree/plan.h"

#include <algorithm>
#include <numeric>

#include "base/try.h"
#include "tree/digest_numbers.h"
#include "tree/graph.h"
#include "tree/path.h"

namespace casemate::tree {
namespace {

// Places and targets are counted in 32 bits.
constexpr int64_t kMostEntries = UINT32_MAX - 1;

int64_t SaturatingSum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

// A directory by itself.
PlanTotals Own(const Directory& directory) {
  PlanTotals own;
  own.files = static_cast<int64_t>(directory.files.size());
  own.directories = 1;
  own.symlinks = static_cast<int64_t>(directory.symlinks.size());
  for (const FileNode& file : directory.files) {
    own.bytes = SaturatingSum(own.bytes, file.digest.size());
  }
  return own;
}

void AddChild(PlanTotals& totals, const PlanTotals& child) {
  totals.files = SaturatingSum(totals.files, child.files);
  totals.directories = SaturatingSum(totals.directories, child.directories);
  totals.symlinks = SaturatingSum(totals.symlinks, child.symlinks);
  totals.bytes = SaturatingSum(totals.bytes, child.bytes);
  totals.depth = std::max(totals.depth, child.depth + 1);
}

Result<PlanTotals> ComputeTotals(const Graph& graph) {
  ASSIGN_OR_RETURN(const std::vector<uint32_t> order, graph.ParentsFirst());
  std::vector<PlanTotals> totals(order.size());
  for (auto number = order.rbegin(); number != order.rend(); ++number) {
    totals[*number] = Own(graph.directories()[*number]);
    for (const uint32_t child : graph.ChildrenOf(*number)) {
      AddChild(totals[*number], totals[child]);
    }
  }
  return totals[0];
}

// Saturated counts read as "at least".
Error AboveLimit(std::string_view what, int64_t count, int64_t limit) {
  return {Code::kResourceExhausted,
          "the tree has " + std::string(count == INT64_MAX ? "at least " : "") +
              std::to_string(count) + " " + std::string(what) +
              ", above the limit of " + std::to_string(limit)};
}

Result<void> CheckTotals(const PlanTotals& totals, const PlanLimits& limits) {
  const int64_t entries = SaturatingSum(
      SaturatingSum(totals.files, totals.directories), totals.symlinks);
  const int64_t most = std::min(limits.max_entries, kMostEntries);
  if (entries > most) return AboveLimit("entries", entries, most);
  if (totals.bytes > limits.max_bytes) {
    return AboveLimit("bytes", totals.bytes, limits.max_bytes);
  }
  if (totals.depth > limits.max_depth) {
    return AboveLimit("levels of directories", totals.depth, limits.max_depth);
  }
  return {};
}

}  // namespace

Result<Plan> Plan::Fetch(const Context& ctx, BlobStore& store,
                         const Digest& root, const PlanLimits& limits) {
  ASSIGN_OR_RETURN(Graph graph,
                   Graph::Fetch(ctx, store, root,
                                {limits.max_depth,
                                 std::min(limits.max_entries, kMostEntries),
                                 limits.max_directory_bytes}));
  Plan plan;
  ASSIGN_OR_RETURN(plan.totals_, ComputeTotals(graph));
  RETURN_IF_ERROR(CheckTotals(plan.totals_, limits));
  plan.ListPlaces(graph);
  plan.ListContents();
  plan.directories_ = std::move(graph).TakeDirectories();
  return plan;
}

void Plan::ListPlaces(const Graph& graph) {
  const Directory* const first = graph.directories().data();
  places_.reserve(static_cast<size_t>(totals_.directories));
  places_.push_back({0, {}, first});
  for (uint32_t place = 0; place < places_.size(); ++place) {
    const Directory& directory = *places_[place].directory;
    const auto children =
        graph.ChildrenOf(static_cast<uint32_t>(&directory - first));
    for (size_t i = 0; i < children.size(); ++i) {
      places_.push_back(
          {place, directory.directories[i].name, first + children[i]});
    }
  }
}

// Each distinct content once, its targets side by side: counted first, so that
// nothing is allocated for a content of its own.
void Plan::ListContents() {
  DigestNumbers numbers;
  std::vector<uint32_t> content_of;  // Of each file, in the order of places.
  std::vector<uint32_t> ends;        // Of each content's targets.
  content_of.reserve(static_cast<size_t>(totals_.files));
  for (const Place& place : places_) {
    for (const FileNode& file : place.directory->files) {
      const uint32_t number =
          numbers.NumberOf(file.digest, [&](uint32_t each) -> const Digest& {
            return contents_[each].digest;
          });
      if (number == contents_.size()) {
        contents_.push_back({file.digest, {}});
        ends.push_back(0);
      }
      ++ends[number];
      content_of.push_back(number);
    }
  }
  std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), uint32_t{0});

  targets_.resize(content_of.size());
  auto content = content_of.begin();
  for (uint32_t place = 0; place < places_.size(); ++place) {
    const size_t count = places_[place].directory->files.size();
    for (uint32_t index = 0; index < count; ++index) {
      targets_[ends[*content++]++] = {place, index};
    }
  }
  uint32_t begin = 0;
  for (size_t i = 0; i < contents_.size(); ++i) {
    contents_[i].targets = std::span(targets_).subspan(begin, ends[i] - begin);
    begin = ends[i];
  }
}

std::string Plan::PathOf(uint32_t place) const {
  std::vector<std::string_view> names;
  for (; place != 0; place = places_[place].parent) {
    names.push_back(places_[place].name);
  }
  return JoinReversed(names);
}

}  // namespace casemate::tree
