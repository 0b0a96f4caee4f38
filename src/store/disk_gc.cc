#include "store/disk_gc.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "base/try.h"
#include "store/disk_layout.h"
#include "store/disk_walk.h"

namespace casemate::store {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

void IgnoreForeign(const std::string&) {}

int64_t LastUse(const files::Stat& stat) {
  return std::max(stat.atime, stat.mtime) / kSecond;
}

// The bytes that were last used in each second. Its size is that of the number
// of different seconds, so it stays small where blobs come in thousands.
using Histogram = std::map<int64_t, int64_t>;

// Blobs last used before `before` go, and of those used in that second, as many
// as it takes to remove `bytes_within`.
struct Cutoff {
  int64_t before = INT64_MIN;
  int64_t bytes_within = 0;
};

// `excess` bytes are to go, and all that was last used before `stale`; nothing
// that was used from `spared` on.
Cutoff FindCutoff(const Histogram& used, int64_t excess, int64_t stale,
                  int64_t spared) {
  Cutoff cutoff;
  for (const auto& [second, bytes] : used) {
    if (second >= spared) break;
    if (second >= stale) {
      if (excess <= 0) break;
      if (excess < bytes) return {second, excess};
    }
    cutoff.before = second + 1;
    excess -= bytes;
  }
  return cutoff;
}

int64_t Stale(const base::Clock& clock, const GcOptions& options) {
  if (options.older_than_seconds == 0) return INT64_MIN;
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      clock.WallNow().time_since_epoch());
  return now.count() - options.older_than_seconds;
}

// A use may be recorded as up to kMarkAfter ago.
int64_t Spared(const GcOptions& options) {
  return options.spare_used_since -
         std::chrono::duration_cast<std::chrono::seconds>(kMarkAfter).count();
}

class Collector {
 public:
  Collector(const Context& ctx, const files::Root& root, bool dry_run)
      : ctx_(ctx), root_(root), dry_run_(dry_run) {}

  Result<Histogram> Count(const std::vector<ShardName>& shards) {
    Histogram used;
    for (const ShardName& shard : shards) {
      RETURN_IF_ERROR(WalkShard(ctx_, root_, shard, IgnoreForeign,
                                [&](const BlobEntry& blob) -> Result<void> {
                                  used[LastUse(blob.stat)] += blob.stat.size;
                                  ++report_.blobs_before;
                                  report_.bytes_before += blob.stat.size;
                                  return {};
                                }));
    }
    return used;
  }

  // Looks at each blob again, so that one used meanwhile stays.
  Result<void> Remove(const std::vector<ShardName>& shards, Cutoff cutoff) {
    for (const ShardName& shard : shards) {
      RETURN_IF_ERROR(WalkShard(
          ctx_, root_, shard, IgnoreForeign,
          [&](const BlobEntry& blob) { return RemoveIfDue(blob, cutoff); }));
    }
    return {};
  }

  GcReport& report() { return report_; }

 private:
  Result<void> RemoveIfDue(const BlobEntry& blob, Cutoff& cutoff) {
    const int64_t used = LastUse(blob.stat);
    if (used > cutoff.before) return {};
    if (used == cutoff.before) {
      if (cutoff.bytes_within <= 0) return {};
      cutoff.bytes_within -= blob.stat.size;
    }
    if (!dry_run_) RETURN_IF_ERROR(blob.shard.Unlink(blob.name));
    ++report_.blobs_removed;
    report_.bytes_removed += blob.stat.size;
    return {};
  }

  const Context& ctx_;
  const files::Root& root_;
  const bool dry_run_;
  GcReport report_;
};

}  // namespace

Result<GcReport> CollectGarbage(const Context& ctx, const files::Root& root,
                                const base::Clock& clock,
                                const GcOptions& options) {
  ASSIGN_OR_RETURN(const auto shards, ListShards(ctx, root, IgnoreForeign));
  Collector collector(ctx, root, options.dry_run);
  ASSIGN_OR_RETURN(const Histogram used, collector.Count(shards));
  const Cutoff cutoff =
      FindCutoff(used, collector.report().bytes_before - options.max_bytes,
                 Stale(clock, options), Spared(options));
  if (cutoff.before != INT64_MIN) {
    RETURN_IF_ERROR(collector.Remove(shards, cutoff));
  }
  return collector.report();
}

Result<void> RemoveDamaged(const Context& ctx, const files::Root& root) {
  ASSIGN_OR_RETURN(const auto aside, root.OpenDirectory(kDamaged));
  ASSIGN_OR_RETURN(const auto entries, aside.List(ctx));
  for (const files::Entry& entry : entries) {
    if (!IsDamagedName(entry.name)) continue;
    RETURN_IF_ERROR(aside.Unlink(entry.name));
  }
  return {};
}

}  // namespace casemate::store
