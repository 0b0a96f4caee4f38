#include "reapi/server/tree_walk.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/try.h"
#include "reapi/wire/choices.h"
#include "store/streams.h"
#include "tree/scan.h"

namespace casemate::reapi {
namespace {

constexpr int64_t kBatchBytes = 1 << 20;
constexpr size_t kBatchItems = 1024;

// What a directory that was met takes: its digest and its places in the table,
// while both grow.
constexpr int64_t kMetBytes = 2 * (sizeof(Digest) + 4 * sizeof(uint32_t));
constexpr int64_t kLeaseBytes = 1 << 20;

}  // namespace

TreeWalk::TreeWalk(BlobStore& store, Admission& admission, const Digest& root)
    : store_(store), admission_(admission) {
  met_.push_back(root);
  numbers_.NumberOf(
      root, [this](uint32_t each) -> const Digest& { return met_[each]; });
}

Result<std::optional<TreeWalk::Directory>> TreeWalk::Next(const Context& ctx) {
  while (ready_.empty()) {
    RETURN_IF_ERROR(ctx.Check());
    if (fetched_ == met_.size()) return std::nullopt;
    RETURN_IF_ERROR(Fetch(ctx));
  }
  std::optional<Directory> next = std::move(ready_.front());
  ready_.pop_front();
  return next;
}

// As many of those met and not yet fetched as make up a batch.
Result<void> TreeWalk::Fetch(const Context& ctx) {
  const uint32_t begin = fetched_;
  int64_t bytes = 0;
  while (fetched_ < met_.size() && fetched_ - begin < kBatchItems) {
    const int64_t size = met_[fetched_].size();
    if (fetched_ > begin && size > kBatchBytes - bytes) break;
    if (size > kBatchBytes) RETURN_IF_ERROR(CheckSize(ctx, fetched_));
    ++fetched_;
    if (size > kBatchBytes) break;
    bytes += size;
  }
  const std::vector<Digest> batch(met_.begin() + begin,
                                  met_.begin() + fetched_);
  auto blobs = store_.GetMany(ctx, batch);
  for (size_t i = 0; i < blobs.size(); ++i) {
    RETURN_IF_ERROR(
        Take(ctx, begin + static_cast<uint32_t>(i), std::move(blobs[i])));
  }
  return {};
}

// A large one is looked through as a stream before it is read into memory: it
// may be anything.
Result<void> TreeWalk::CheckSize(const Context& ctx, uint32_t number) {
  const Digest digest = met_[number];
  const auto reader = store_.Get(ctx, digest, 0);
  if (!reader && reader.error().code == Code::kNotFound) return {};
  if (!reader) return reader.error();
  if (digest.size() > kMaxDirectoryBytes) {
    return Error{kMalformed,
                 "blob " + digest.ToString() + " is larger than any Directory"};
  }
  const auto scanned = tree::ScanDirectory(
      ctx, **reader, digest.function(),
      [](tree::NodeKind, const Digest&) { return Result<void>(); });
  if (!scanned) return Wrap(scanned.error(), "blob " + digest.ToString());
  large_ = {};  // The one before has been sent, or is part of a page.
  ASSIGN_OR_RETURN(large_, TakeMemory(digest.size()));
  return {};
}

Result<void> TreeWalk::Take(const Context& ctx, uint32_t number,
                            Result<Blob> blob) {
  const bool is_absent = !blob && (blob.error().code == Code::kNotFound ||
                                   blob.error().code == Code::kDataLoss);
  if (is_absent && number > 0) return {};
  if (!blob && number > 0) return std::move(blob).error();
  if (!blob) return Wrap(std::move(blob).error(), "the tree's root");
  RETURN_IF_ERROR(Scan(ctx, *blob));
  ready_.push_back({number, blob->digest(), blob->bytes()});
  return {};
}

Result<void> TreeWalk::Scan(const Context& ctx, const Blob& blob) {
  const auto reader = store::MakeBytesReader(blob.bytes(), 0);
  auto scanned = tree::ScanDirectory(
      ctx, *reader, blob.digest().function(),
      [this](tree::NodeKind kind, const Digest& digest) {
        return kind == tree::NodeKind::kDirectory ? Meet(digest)
                                                  : Result<void>();
      });
  if (scanned) return {};
  return Wrap(std::move(scanned).error(), "blob " + blob.digest().ToString());
}

Result<void> TreeWalk::Meet(const Digest& digest) {
  const uint32_t number = numbers_.NumberOf(
      digest, [this](uint32_t each) -> const Digest& { return met_[each]; });
  if (number < met_.size()) return {};
  met_.push_back(digest);
  const int64_t needed = static_cast<int64_t>(met_.size()) * kMetBytes;
  if (needed <= leased_) return {};
  ASSIGN_OR_RETURN(auto lease, TakeMemory(kLeaseBytes));
  leases_.push_back(std::move(lease));
  leased_ += kLeaseBytes;
  return {};
}

Result<Admission::Lease> TreeWalk::TakeMemory(int64_t bytes) {
  auto lease = admission_.TryTake(bytes);
  if (!lease) {
    return Error{Code::kResourceExhausted,
                 "the tree is too large for the memory that is free now"};
  }
  return *std::move(lease);
}

}  // namespace casemate::reapi
