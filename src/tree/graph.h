// Graph: the distinct directories of a stored tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "casemate/blob_store.h"
#include "tree/digest_numbers.h"
#include "tree/directory.h"
#include "tree/lookup.h"

namespace casemate::tree {

struct GraphLimits {
  int max_depth = 8192;
  int64_t max_entries = 10'000'000;  // Of distinct directories together.
  int64_t max_directory_bytes = kMaxDirectoryBytes;
};

// Each distinct directory has a number, given in the order in which they are
// met level by level; the root's is 0.
class Graph {
 public:
  // Errors are those of Plan::Fetch.
  static Result<Graph> Fetch(const Context& ctx, BlobStore& store,
                             const Digest& root, const GraphLimits& limits);

  const std::vector<Directory>& directories() const { return directories_; }
  std::vector<Directory> TakeDirectories() && {
    return std::move(directories_);
  }

  // The numbers of a directory's directories, in their order.
  std::span<const uint32_t> ChildrenOf(uint32_t number) const {
    return std::span(children_).subspan(
        first_child_[number], first_child_[number + 1] - first_child_[number]);
  }

  // All numbers, each after those of all directories that contain it.
  // kInvalidArgument if the tree contains itself, which only a store that does
  // not verify can bring about.
  Result<std::vector<uint32_t>> ParentsFirst() const;

 private:
  // A directory and where it was first met.
  struct Node {
    Digest digest;
    uint32_t parent = 0;
    uint32_t index = 0;  // Among the parent's directories.
    int depth = 0;
  };

  Graph() = default;
  Result<void> FetchNext(const Context& ctx, BlobStore& store,
                         const GraphLimits& limits);
  Result<void> Add(const Result<Blob>& blob, const GraphLimits& limits);
  Error About(Error error, size_t number) const;
  std::string PathOf(size_t number) const;

  std::vector<Node> nodes_;
  std::vector<Directory> directories_;  // Fetched so far: a head of nodes_.
  std::vector<uint32_t> children_;
  std::vector<size_t> first_child_ = {0};
  DigestNumbers numbers_;
  int64_t entries_ = 0;
};

}  // namespace casemate::tree
