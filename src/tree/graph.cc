#include "tree/graph.h"

#include <algorithm>

#include "base/try.h"
#include "digest/hasher.h"
#include "files/error.h"
#include "tree/path.h"

namespace casemate::tree {
namespace {

// A batch is held in memory at once, beside what was decoded so far.
constexpr int64_t kBatchBytes = 4 << 20;
constexpr size_t kBatchItems = 4096;

Error AboveLimit(std::string what) {
  return {Code::kResourceExhausted, std::move(what)};
}

Error TooLarge(int64_t limit) {
  return AboveLimit("it is larger than " + std::to_string(limit) + " bytes");
}

}  // namespace

Result<Graph> Graph::Fetch(const Context& ctx, BlobStore& store,
                           const Digest& root, const GraphLimits& limits) {
  Graph graph;
  graph.nodes_.push_back({.digest = root});
  graph.numbers_.NumberOf(root, [&](uint32_t) { return root; });
  while (graph.directories_.size() < graph.nodes_.size()) {
    RETURN_IF_ERROR(ctx.Check());
    RETURN_IF_ERROR(graph.FetchNext(ctx, store, limits));
  }
  return graph;
}

// Fetches as many of the directories that are known and not yet fetched as make
// up one batch, in the order of their numbers.
Result<void> Graph::FetchNext(const Context& ctx, BlobStore& store,
                              const GraphLimits& limits) {
  const size_t begin = directories_.size();
  size_t end = begin;
  int64_t bytes = 0;
  std::vector<Digest> digests;
  while (end < nodes_.size() && end - begin < kBatchItems) {
    const Digest& digest = nodes_[end].digest;
    if (digest.size() > limits.max_directory_bytes) {
      return About(TooLarge(limits.max_directory_bytes), end);
    }
    if (end > begin && digest.size() > kBatchBytes - bytes) break;
    if (!digest::IsEmpty(digest)) digests.push_back(digest);
    bytes += digest.size();
    ++end;
  }
  std::vector<Result<Blob>> blobs;
  if (!digests.empty()) blobs = store.GetMany(ctx, digests);
  auto next = blobs.begin();
  for (size_t number = begin; number < end; ++number) {
    const Digest digest = nodes_[number].digest;
    const Result<Blob> blob = digest::IsEmpty(digest)
                                  ? Blob::Verified(digest, Bytes())
                                  : std::move(*next++);
    if (auto added = Add(blob, limits); !added) {
      return About(std::move(added).error(), number);
    }
  }
  return {};
}

// Takes the next directory and makes its children known.
Result<void> Graph::Add(const Result<Blob>& blob, const GraphLimits& limits) {
  if (!blob) return blob.error();
  const auto number = static_cast<uint32_t>(directories_.size());
  const Node node = nodes_[number];
  ASSIGN_OR_RETURN(Directory directory, DecodeBlob(*blob, node.digest));
  entries_ += static_cast<int64_t>(directory.files.size() +
                                   directory.directories.size() +
                                   directory.symlinks.size());
  if (entries_ > limits.max_entries) {
    return AboveLimit("the tree has more than " +
                      std::to_string(limits.max_entries) + " entries");
  }
  if (!directory.directories.empty() && node.depth >= limits.max_depth) {
    return AboveLimit("the tree is deeper than " +
                      std::to_string(limits.max_depth) + " directories");
  }
  uint32_t index = 0;
  for (const DirectoryNode& child : directory.directories) {
    const uint32_t known = numbers_.NumberOf(
        child.digest,
        [&](uint32_t each) -> const Digest& { return nodes_[each].digest; });
    if (known == nodes_.size()) {
      nodes_.push_back({child.digest, number, index, node.depth + 1});
    }
    children_.push_back(known);
    ++index;
  }
  first_child_.push_back(children_.size());
  directories_.push_back(std::move(directory));
  return {};
}

Error Graph::About(Error error, size_t number) const {
  const std::string path = PathOf(number);
  return Wrap(std::move(error),
              (path.empty() ? std::string("root directory")
                            : "directory \"" + files::Printable(path) + "\"") +
                  " (" + nodes_[number].digest.ToString() + ")");
}

std::string Graph::PathOf(size_t number) const {
  std::vector<std::string_view> names;
  while (number != 0) {
    const Node& node = nodes_[number];
    names.push_back(directories_[node.parent].directories[node.index].name);
    number = node.parent;
  }
  return JoinReversed(names);
}

Result<std::vector<uint32_t>> Graph::ParentsFirst() const {
  std::vector<uint32_t> parents(directories_.size(), 0);
  for (const uint32_t child : children_) ++parents[child];
  std::vector<uint32_t> order;
  order.reserve(directories_.size());
  if (parents[0] == 0) order.push_back(0);
  for (size_t i = 0; i < order.size(); ++i) {
    for (const uint32_t child : ChildrenOf(order[i])) {
      if (--parents[child] == 0) order.push_back(child);
    }
  }
  if (order.size() < directories_.size()) {
    return Error{Code::kInvalidArgument, "the tree contains itself"};
  }
  return order;
}

}  // namespace casemate::tree
