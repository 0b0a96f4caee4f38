// Arrivals: who waits for a blob to come, by whichever way it comes.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <unordered_map>

#include "base/mutex.h"
#include "casemate/blob_store.h"
#include "casemate/digest.h"
#include "rpc/call.h"

namespace casemate::reapi {

// An upload ends as soon as its blob exists, whoever brought it. So an
// upload that goes on for longer waits here, and whoever has stored a blob for
// a client (ByteStream, batch) tells it here. Safe from many threads.
class Arrivals {
 public:
  // One upload's interest; ends it when it ends.
  class Wait {
   public:
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    bool arrived() const { return arrived_.load(std::memory_order_acquire); }

   private:
    friend class Arrivals;
    Wait(Arrivals& arrivals, const BlobStore& store, const Digest& digest,
         rpc::Waker wake);

    Arrivals& arrivals_;
    const BlobStore& store_;
    const Digest digest_;
    const rpc::Waker wake_;
    std::atomic<bool> arrived_ = false;
  };

  // Begin to wait, then look whether it is there: so none is missed.
  std::unique_ptr<Wait> Expect(const BlobStore& store, const Digest& digest,
                               rpc::Waker wake) EXCLUDES(mutex_);

  // `digest` is in `store` now. Costs next to nothing while nobody waits.
  void Tell(const BlobStore& store, const Digest& digest) EXCLUDES(mutex_);

  size_t waiting() const { return count_.load(std::memory_order_relaxed); }

 private:
  base::Mutex mutex_;
  std::unordered_multimap<Digest, Wait*> waits_ GUARDED_BY(mutex_);
  std::atomic<size_t> count_ = 0;  // Of them.
};

}  // namespace casemate::reapi
