#include "reapi/server/arrivals.h"

#include <utility>
#include <vector>

namespace casemate::reapi {

Arrivals::Wait::Wait(Arrivals& arrivals, const BlobStore& store,
                     const Digest& digest, rpc::Waker wake)
    : arrivals_(arrivals),
      store_(store),
      digest_(digest),
      wake_(std::move(wake)) {}

Arrivals::Wait::~Wait() {
  base::MutexLock lock(arrivals_.mutex_);
  const auto [first, last] = arrivals_.waits_.equal_range(digest_);
  for (auto each = first; each != last; ++each) {
    if (each->second != this) continue;
    arrivals_.waits_.erase(each);
    arrivals_.count_.fetch_sub(1);
    return;
  }
}

std::unique_ptr<Arrivals::Wait> Arrivals::Expect(const BlobStore& store,
                                                 const Digest& digest,
                                                 rpc::Waker wake) {
  std::unique_ptr<Wait> wait(new Wait(*this, store, digest, std::move(wake)));
  base::MutexLock lock(mutex_);
  waits_.emplace(digest, wait.get());
  count_.fetch_add(1);
  return wait;
}

// Who registers after the count was read finds the blob when it looks.
void Arrivals::Tell(const BlobStore& store, const Digest& digest) {
  if (count_.load() == 0) return;
  std::vector<rpc::Waker> wakers;
  {
    base::MutexLock lock(mutex_);
    const auto [first, last] = waits_.equal_range(digest);
    for (auto each = first; each != last; ++each) {
      Wait& wait = *each->second;
      if (&wait.store_ != &store || wait.arrived_.exchange(true)) continue;
      wakers.push_back(wait.wake_);
    }
  }
  for (const rpc::Waker& wake : wakers) wake();
}

}  // namespace casemate::reapi
