// Uploader: what a capture finds goes into a store, many at once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "casemate/blob_store.h"
#include "readpool/progress_feed.h"
#include "tree/capture.h"
#include "work/budget.h"
#include "work/pool.h"

namespace casemate::transfer {

// How a LargeFile ended: stored, or not, and then whose fault it was.
struct Settled {
  enum class End { kStored, kChanged, kFailed };
  uint64_t token = 0;
  End end = End::kStored;
  Error error = {};  // Of a file that could not be read.
};

// Small blobs gather while all uploads are under way and leave together when
// one ends; with an upload free they leave at once. An error of the store ends
// the whole. Used by one thread.
class Uploader {
 public:
  struct Options {
    int width = 4;         // Uploads under way.
    bool dry_run = false;  // Asks what is missing; stores nothing.
  };

  Uploader(const Context& ctx, work::Pool& pool, BlobStore& store,
           std::shared_ptr<readpool::ProgressFeed> feed, Options options);

  // Either may wait for an upload to end.
  Result<void> Add(tree::SmallBlob small);
  Result<void> Add(tree::LargeFile large);

  // Lets go of what has gathered if an upload is free.
  Result<void> FlushIfFree();

  // Large files that ended since the last call.
  std::vector<Settled> TakeSettled() EXCLUDES(mutex_);

  // Lets go of what has gathered, then waits until an upload has ended since
  // the last call. False if none did and none is under way: this holds nothing.
  Result<bool> WaitForProgress() EXCLUDES(mutex_);

  // Lets go of everything and waits for it.
  Result<void> Finish() EXCLUDES(mutex_);

  struct Totals {
    int64_t blobs = 0;  // That the store lacked, and their bytes.
    int64_t bytes = 0;
  };
  Totals totals() const EXCLUDES(mutex_);

 private:
  struct Batch {
    std::vector<Blob> blobs;
    work::Lease lease;
    int64_t bytes = 0;
  };

  Result<void> Flush();
  Result<void> Start(std::function<Result<void>(const Context&)> upload)
      EXCLUDES(mutex_);
  Result<void> StoreBatch(const Context& ctx, Batch& batch) EXCLUDES(mutex_);
  Result<void> StoreLarge(const Context& ctx, const tree::LargeFile& large)
      EXCLUDES(mutex_);
  void Count(int64_t blobs, int64_t bytes) EXCLUDES(mutex_);

  BlobStore& store_;
  const std::shared_ptr<readpool::ProgressFeed> feed_;
  const Options options_;
  Batch gathered_;

  mutable base::Mutex mutex_;
  base::CondVar ended_;
  int under_way_ GUARDED_BY(mutex_) = 0;
  int64_t ends_ GUARDED_BY(mutex_) = 0;
  int64_t ends_seen_ GUARDED_BY(mutex_) = 0;
  std::vector<Settled> settled_ GUARDED_BY(mutex_);
  Totals totals_ GUARDED_BY(mutex_);

  work::TaskGroup group_;  // Last: joined before the rest goes.
};

}  // namespace casemate::transfer
