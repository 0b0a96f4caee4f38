#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/try.h"
#include "store/disk_gc.h"
#include "store/disk_walk.h"
#include "work/pool.h"

namespace casemate::store {
namespace {

// Gathers what several threads find.
class Verifier {
 public:
  Verifier(const files::Root& root, BlobFiles& blobs)
      : root_(root), blobs_(blobs) {}

  void AddForeign(std::string path) EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    report_.foreign.push_back(std::move(path));
  }

  Result<void> VerifyShard(const Context& ctx, const ShardName& shard) {
    return WalkShard(
        ctx, root_, shard,
        [this](std::string path) { AddForeign(std::move(path)); },
        [&](const BlobEntry& blob) { return VerifyBlob(ctx, blob); });
  }

  VerifyReport TakeReport() EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    std::ranges::sort(report_.damaged);
    std::ranges::sort(report_.foreign);
    return std::move(report_);
  }

 private:
  Result<void> VerifyBlob(const Context& ctx, const BlobEntry& blob)
      EXCLUDES(mutex_) {
    ASSIGN_OR_RETURN(files::File file,
                     blob.shard.OpenFile(blob.name, blob.stat));
    const StoredFile stored = {std::move(file), blob.digest, blob.form};
    const auto checked = blobs_.Check(ctx, stored);
    const Code code = checked ? Code::kOk : checked.error().code;
    if (code == Code::kInternal) {  // The disk cannot read it.
      (void)blobs_.Damaged(stored, checked.error());
    }
    const bool damaged = code == Code::kDataLoss || code == Code::kInternal;
    if (!checked && !damaged) return checked.error();
    if (!damaged) RestoreLastUse(blob);
    base::MutexLock lock(mutex_);
    ++report_.blobs;
    report_.bytes += blob.stat.size;
    if (damaged) report_.damaged.push_back(blob.digest.ToString());
    return {};
  }

  // Reading may have set atime, but to verify is not to use.
  static void RestoreLastUse(const BlobEntry& blob) {
    const auto now = blob.shard.StatEntry(blob.name);
    if (now && now->atime != blob.stat.atime) {
      (void)blob.shard.SetEntryAccessed(blob.name, blob.stat.atime);
    }
  }

  const files::Root& root_;
  BlobFiles& blobs_;
  base::Mutex mutex_;
  VerifyReport report_ GUARDED_BY(mutex_);
};

}  // namespace

Result<VerifyReport> VerifyBlobs(const Context& ctx, const files::Root& root,
                                 BlobFiles& blobs) {
  Verifier verifier(root, blobs);
  ASSIGN_OR_RETURN(const auto shards,
                   ListShards(ctx, root, [&](std::string path) {
                     verifier.AddForeign(std::move(path));
                   }));
  const int threads =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  work::Pool pool("verify", threads);
  work::TaskGroup group(ctx, pool, 2 * threads);
  for (const ShardName& shard : shards) {
    RETURN_IF_ERROR(group.Add([&](const Context& inner) {
      return verifier.VerifyShard(inner, shard);
    }));
  }
  RETURN_IF_ERROR(group.Wait());
  return verifier.TakeReport();
}

}  // namespace casemate::store
