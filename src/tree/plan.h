// What materialising a tree will do, checked in full before anything is
// written.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "casemate/blob_store.h"
#include "casemate/context.h"
#include "tree/directory.h"
#include "tree/lookup.h"

namespace casemate::tree {

class Graph;

struct PlanLimits {
  int max_depth = 8192;              // Of directories below the root.
  int64_t max_entries = 10'000'000;  // Expanded: a shared subtree counts at
                                     // each place where it stands.
  int64_t max_bytes = INT64_MAX;     // Of all files, expanded.
  int64_t max_directory_bytes = kMaxDirectoryBytes;  // Of one message.
};

struct PlanTotals {
  int64_t files = 0;
  int64_t directories = 0;  // With the root.
  int64_t symlinks = 0;
  int64_t bytes = 0;
  int depth = 0;
};

// The tree below a root digest. Directories are fetched through the store level
// by level, each distinct one once, and checked before their names are
// believed. Totals are computed over the graph of distinct directories with
// memoisation, so a small graph that expands exponentially is refused
// (kResourceExhausted) at the cost of the graph alone.
class Plan {
 public:
  Plan(Plan&&) noexcept = default;
  Plan& operator=(Plan&&) noexcept = default;

  // kNotFound names the directory that is missing, and its path;
  // kInvalidArgument the rule that is broken; kDataLoss a wrong digest.
  static Result<Plan> Fetch(const Context& ctx, BlobStore& store,
                            const Digest& root, const PlanLimits& limits = {});

  const PlanTotals& totals() const { return totals_; }

  // A directory at one place in the tree. Places are listed parents first.
  struct Place {
    uint32_t parent = 0;    // Index into places(); the root's is 0.
    std::string_view name;  // Empty for the root.
    const Directory* directory = nullptr;
  };

  // Every place, expanded. Its memory is what the limits allow.
  const std::vector<Place>& places() const { return places_; }

  // "a/b/c" for a place; "" for the root.
  std::string PathOf(uint32_t place) const;

  // One file of the tree at one place: `place`'s directory's files[index].
  struct Target {
    uint32_t place = 0;
    uint32_t index = 0;
  };

  // A distinct file content and everywhere it belongs, in order of its first
  // place, so that neighbours are written together.
  struct Content {
    Digest digest;
    std::span<const Target> targets;
  };
  const std::vector<Content>& contents() const { return contents_; }

 private:
  Plan() = default;
  void ListPlaces(const Graph& graph);
  void ListContents();

  PlanTotals totals_;
  std::vector<Directory> directories_;  // Distinct; places_ point into it,
  std::vector<Place> places_;
  std::vector<Target> targets_;  // and contents_ into this.
  std::vector<Content> contents_;
};

}  // namespace casemate::tree
