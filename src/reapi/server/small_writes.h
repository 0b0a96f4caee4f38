// SmallWrites: independent uploads of small blobs, stored in groups.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "casemate/blob_store.h"
#include "casemate/bytes.h"
#include "casemate/digest.h"
#include "casemate/io.h"
#include "casemate/result.h"
#include "reapi/server/arrivals.h"
#include "rpc/call.h"
#include "work/pool.h"

namespace casemate::reapi {

// One blob, whole, on its way to its store. Shared by the call that brought it
// and the group that it leaves with, because either may end first.
class SmallWrite {
 public:
  // `data` is encoded as said. `store` outlives it.
  SmallWrite(BlobStore& store, const Digest& digest, Bytes data,
             Encoding encoding, rpc::Waker wake = {});

  // Stores it now, on this thread.
  void StoreNow(const Context& ctx, Arrivals& arrivals);

  // Whether it has ended; how may be asked from then on.
  bool done() const { return done_.load(std::memory_order_acquire); }

  // True if the store had it before. Errors are those of a bad upload (see
  // UploadError) or the store's.
  const Result<bool>& result() const { return result_; }

 private:
  friend class SmallWrites;

  static void StoreGroup(const Context& ctx, Arrivals& arrivals,
                         std::span<SmallWrite* const> group);
  Result<Blob> ToBlob() const;
  void End(Result<bool> result);

  BlobStore& store_;
  const Digest digest_;
  Bytes data_;
  const Encoding encoding_;
  const rpc::Waker wake_;
  Result<bool> result_ = false;
  std::atomic<bool> done_ = false;
};

struct SmallWritesOptions {
  int slots = 2;                         // Groups under way at once.
  size_t max_items = 256;                // In one group.
  int64_t max_bytes = int64_t{8} << 20;  // In one group.
};

// Slot-based group commit without a waiting thread (see work::GroupCommit, the
// form for callers that block): a write that finds a free slot leaves at once;
// while all slots are busy, writes gather in order, and leave together when one
// frees. A group is one task of the pool and one PutMany; then each call is
// told by its waker. Safe from many threads.
class SmallWrites {
 public:
  SmallWrites(work::Pool& pool, Arrivals& arrivals,
              SmallWritesOptions options = {});
  ~SmallWrites();  // Waits for what is under way.

  void Start(std::shared_ptr<SmallWrite> write) EXCLUDES(mutex_);

  // Its call is gone: it is dropped unless it has left already.
  void Withdraw(const SmallWrite& write) EXCLUDES(mutex_);

  struct Counters {
    int64_t groups = 0;
    int64_t writes = 0;
  };
  Counters counters() const EXCLUDES(mutex_);
  size_t waiting() const EXCLUDES(mutex_);

 private:
  using Group = std::vector<std::shared_ptr<SmallWrite>>;

  Group Gather() REQUIRES(mutex_);
  void Launch(Group group);
  void Run(const Group& group) EXCLUDES(mutex_);

  work::Pool& pool_;
  Arrivals& arrivals_;
  const SmallWritesOptions options_;
  mutable base::Mutex mutex_;
  base::CondVar idle_;
  int busy_slots_ GUARDED_BY(mutex_) = 0;
  std::deque<std::shared_ptr<SmallWrite>> waiting_ GUARDED_BY(mutex_);
  Counters counters_ GUARDED_BY(mutex_);
};

}  // namespace casemate::reapi
