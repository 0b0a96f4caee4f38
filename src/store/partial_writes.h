// Writers that can be left and found again by an id.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "casemate/digest.h"
#include "casemate/io.h"
#include "digest/hasher.h"

namespace casemate::store {

// Where a store keeps the bytes of a blob that is not complete. Its end without
// Publish removes them. One thread.
class Unfinished {
 public:
  virtual ~Unfinished() = default;

  // Whether it wants frames as they arrive, rather than what they decode to.
  // Asked anew for each piece.
  virtual bool KeepsFrames() const { return false; }

  // The blob's next bytes, decoded.
  virtual Result<void> Append(const Context& ctx,
                              std::span<const std::byte> data) = 0;

  // The next bytes of frames, which have been decoded: up to here they hold
  // `decoded` bytes of the blob, and `whole` says whether none is under way.
  virtual Result<void> AppendFrames(const Context&, std::span<const std::byte>,
                                    int64_t /*decoded*/, bool /*whole*/) {
    return Error{Code::kInternal, "this store keeps no frames"};
  }

  // Its writer has left it: holds as little as it can, for a while.
  virtual void Rest() {}

  // It was found again, and goes on in `encoding`, before anything else. The
  // rest of a frame that was cut does not come. If `ctx` ends, it is as before.
  virtual Result<void> Resume(const Context&, Encoding) { return {}; }

  // All bytes are there and match the digest: make the blob visible.
  virtual Result<void> Publish(const Context& ctx) = 0;
};

struct PartialWriteLimits {
  size_t count = 128;                // Left by their writers.
  int64_t bytes = int64_t{4} << 30;  // Of those.
  std::chrono::minutes age{60};      // Since they were left.
};

// The part of StartWrite that is the same in every store: decoding, counting,
// hashing, and remembering what was left. Beyond a limit, what was left longest
// ago is forgotten first. What failed is not kept, nor what took no bytes; what
// was only cancelled is. Safe from many threads; must outlive its writers.
class PartialWrites {
 public:
  explicit PartialWrites(PartialWriteLimits limits = {},
                         const base::Clock& clock = base::SystemClock())
      : limits_(limits), clock_(clock) {}

  using Make = std::function<Result<std::unique_ptr<Unfinished>>()>;

  // As BlobStore::StartWrite. An id belongs to its digest: with another digest
  // it is another id. `make` is called unless there is something to continue.
  Result<std::unique_ptr<Writer>> Start(const Context& ctx,
                                        const Digest& digest,
                                        std::string_view id, Encoding encoding,
                                        const Make& make) EXCLUDES(mutex_);

 private:
  class PartialWriter;

  using Key = std::pair<std::string, Digest>;  // An empty id: not kept.

  // What has been written: moves between the table and a writer.
  struct Progress {
    digest::Hasher hasher;
    std::unique_ptr<Unfinished> unfinished;
  };
  struct Left {
    Key key;
    std::unique_ptr<Progress> progress;
    std::chrono::steady_clock::time_point since;
  };
  using LeftList = std::list<Left>;  // Longest ago first.

  Result<std::unique_ptr<Progress>> Claim(const Key& key) EXCLUDES(mutex_);
  void Leave(const Key& key, std::unique_ptr<Progress> progress)
      EXCLUDES(mutex_);
  void Forget(const Key& key) EXCLUDES(mutex_);

  std::unique_ptr<Progress> Take(LeftList::iterator left) REQUIRES(mutex_);

  // Takes out one entry that is beyond a limit; null if there is none.
  std::unique_ptr<Progress> TakeExcess() EXCLUDES(mutex_);
  void Trim() EXCLUDES(mutex_);

  const PartialWriteLimits limits_;
  const base::Clock& clock_;
  base::Mutex mutex_;
  LeftList left_ GUARDED_BY(mutex_);
  int64_t left_bytes_ GUARDED_BY(mutex_) = 0;
  // Each key that is in use; end() of left_ while its writer is open.
  std::map<Key, LeftList::iterator> keys_ GUARDED_BY(mutex_);
};

}  // namespace casemate::store
