#include "actions/completeness.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "actions/action_result.h"
#include "base/try.h"
#include "store/streams.h"
#include "tree/digest_numbers.h"
#include "tree/scan.h"

namespace casemate::actions {
namespace {

// Digests that are looked up together: 5 MiB of them.
constexpr size_t kLookUpTogether = 65'536;

// Trees and directories up to a size are fetched many at once; larger ones are
// read as streams, in constant memory.
constexpr int64_t kSmallBytes = 1 << 20;
constexpr int64_t kBatchBytes = 4 << 20;
constexpr size_t kBatchItems = 4096;

// For a search that has found enough: never leaves this file.
Error Enough() { return {Code::kAborted, "enough"}; }

class Search {
 public:
  Search(const Context& ctx, BlobStore& store, DigestFunction function,
         const CompletenessLimits& limits)
      : ctx_(ctx), store_(store), function_(function), limits_(limits) {}

  Result<std::vector<Digest>> Run(const Bytes& result) {
    auto searched = LookAtOutputs(result);
    if (searched) searched = LookInTrees();
    if (searched) searched = LookInDirectories();
    if (searched) searched = LookUp();
    if (!searched && !enough_) return std::move(searched).error();
    std::ranges::sort(missing_);
    missing_.erase(std::unique(missing_.begin(), missing_.end()),
                   missing_.end());
    return std::move(missing_);
  }

 private:
  Result<void> LookAtOutputs(const Bytes& result) {
    RETURN_IF_ERROR(ScanResult(function_, result,
                               [this](OutputKind kind, const Digest& digest) {
                                 if (kind == OutputKind::kTree)
                                   trees_.push_back(digest);
                                 if (kind == OutputKind::kDirectory)
                                   AddDirectory(digest);
                                 return Want(digest, digest);
                               }));
    std::ranges::sort(trees_);
    trees_.erase(std::unique(trees_.begin(), trees_.end()), trees_.end());
    return LookUp();
  }

  Result<void> LookInTrees() {
    size_t next = 0;
    while (next < trees_.size()) {
      RETURN_IF_ERROR(
          Fetch(trees_, next, [this](const Digest& tree, Reader& reader) {
            return tree::ScanTree(
                ctx_, reader, function_,
                [&](tree::NodeKind kind, const Digest& digest) {
                  // The Tree itself holds its directories.
                  return kind == tree::NodeKind::kFile ? Want(digest, tree)
                                                       : Result<void>();
                });
          }));
    }
    return {};
  }

  // Level by level; each distinct directory once, whatever leads to it.
  Result<void> LookInDirectories() {
    size_t next = 0;
    while (next < directories_.size()) {
      RETURN_IF_ERROR(Fetch(
          directories_, next, [this](const Digest& directory, Reader& reader) {
            return tree::ScanDirectory(
                ctx_, reader, function_,
                [&](tree::NodeKind kind, const Digest& digest) {
                  if (kind == tree::NodeKind::kDirectory) AddDirectory(digest);
                  if (directories_.size() <= limits_.max_directories) {
                    return Want(digest, directory);
                  }
                  beyond_limits_ = true;
                  return Miss(directory);
                });
          }));
    }
    return {};
  }

  void AddDirectory(const Digest& digest) {
    const uint32_t number = numbers_.NumberOf(
        digest,
        [this](uint32_t each) -> const Digest& { return directories_[each]; });
    if (number == directories_.size()) directories_.push_back(digest);
  }

  // `digest` shall be there; it was found in `holder`.
  Result<void> Want(const Digest& digest, const Digest& holder) {
    if (++wanted_count_ > limits_.max_digests) {
      beyond_limits_ = true;
      return Miss(holder);
    }
    wanted_.push_back(digest);
    return wanted_.size() < kLookUpTogether ? Result<void>() : LookUp();
  }

  Result<void> LookUp() {
    if (wanted_.empty()) return {};
    ASSIGN_OR_RETURN(const auto missing, store_.FindMissing(ctx_, wanted_));
    wanted_.clear();
    for (const Digest& digest : missing) RETURN_IF_ERROR(Miss(digest));
    return {};
  }

  Result<void> Miss(const Digest& digest) {
    missing_.push_back(digest);
    enough_ = beyond_limits_ || missing_.size() >= limits_.max_missing;
    return enough_ ? Result<void>(Enough()) : Result<void>();
  }

  using Scan = std::function<Result<void>(const Digest&, Reader&)>;

  // Scans the next of `digests`: one large message, or a batch of small ones.
  // `scan` may add to `digests`.
  Result<void> Fetch(const std::vector<Digest>& digests, size_t& next,
                     const Scan& scan) {
    const Digest first = digests[next];
    if (first.size() > kSmallBytes) {
      ++next;
      if (first.size() > limits_.max_tree_bytes) return Miss(first);
      auto reader = store_.Get(ctx_, first, 0);
      if (!reader) return Judge(first, reader.error());
      return Judge(first, scan(first, **reader));
    }
    std::vector<Digest> batch;
    int64_t bytes = 0;
    for (; next < digests.size() && batch.size() < kBatchItems; ++next) {
      const int64_t size = digests[next].size();
      if (size > kSmallBytes || bytes + size > kBatchBytes) break;
      batch.push_back(digests[next]);
      bytes += size;
    }
    const auto blobs = store_.GetMany(ctx_, batch);
    for (size_t i = 0; i < batch.size(); ++i) {
      if (!blobs[i]) {
        RETURN_IF_ERROR(Judge(batch[i], blobs[i].error()));
        continue;
      }
      const auto reader = store::MakeBytesReader(blobs[i]->bytes(), 0);
      RETURN_IF_ERROR(Judge(batch[i], scan(batch[i], *reader)));
    }
    return {};
  }

  // A message that is gone, damaged or none counts as missing; other errors,
  // and the end of the search, are passed on.
  Result<void> Judge(const Digest& digest, Result<void> scanned) {
    if (scanned || enough_) return scanned;
    switch (scanned.error().code) {
      case Code::kNotFound:
      case Code::kDataLoss:
      case Code::kInvalidArgument: return Miss(digest);
      default: return scanned;
    }
  }

  const Context& ctx_;
  BlobStore& store_;
  const DigestFunction function_;
  const CompletenessLimits& limits_;
  std::vector<Digest> trees_;
  std::vector<Digest> directories_;  // By their numbers.
  tree::DigestNumbers numbers_;
  std::vector<Digest> wanted_;  // Not yet looked up.
  int64_t wanted_count_ = 0;
  std::vector<Digest> missing_;
  bool beyond_limits_ = false;
  bool enough_ = false;
};

}  // namespace

Result<std::vector<Digest>> MissingBlobs(const Context& ctx, BlobStore& store,
                                         DigestFunction function,
                                         const Bytes& result,
                                         const CompletenessLimits& limits) {
  return Search(ctx, store, function, limits).Run(result);
}

}  // namespace casemate::actions
