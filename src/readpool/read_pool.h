// ReadPool: many files read and digested at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "casemate/blob.h"
#include "casemate/context.h"
#include "casemate/digest.h"
#include "files/root.h"
#include "readpool/progress_feed.h"
#include "work/budget.h"

namespace casemate::readpool {

struct ReadPoolOptions {
  int readers = 0;                  // 0: max(2, cores).
  int64_t buffer_bytes = 64 << 10;  // For each reader; less if the budget is
                                    // small, but at least 16 KiB.
  int blocking_threads = 64;        // Upper bound of the blocking lane: of
                                    // its threads, and of the files of one
                                    // call that are open to wait in it.
};

// A file to read, as the listing of its directory found it.
struct FileRequest {
  std::string path;      // Below the call's root.
  files::Stat expected;  // A regular file.
  uint64_t cookie = 0;   // Comes back with the outcome.
};

// A file that was read to its end and did not change meanwhile. Files of at
// most CallOptions::keep_bytes stay in memory; of larger ones, only the digest.
// A file that says it is empty and is not, as below /proc, must be small.
struct FileDigest {
  Digest digest;
  files::Stat stat;          // What a Source must find again.
  std::optional<Blob> blob;  // Set for small files; verified.
  work::Lease lease;         // Of the budget, for the blob's memory.
};

struct Outcome {
  uint64_t cookie = 0;
  std::string path;
  Result<FileDigest> file;
};

struct CallOptions {
  DigestFunction function = DigestFunction::kSha256;
  int64_t keep_bytes = 1 << 20;
  int changed_retries = 3;  // For a file that changes while it is read.
};

class ReadCall;

// Readers are threads that only ever read what the page cache has and hash it
// (preadv2(RWF_NOWAIT)); a file that would wait for the disk moves to a
// separate, bounded lane. Calls take turns, large files in slices, so that one
// call's million files or one huge file do not hold up another's. No listener
// ever runs on a reader.
class ReadPool {
 public:
  // Reader buffers are taken from `budget` here, once.
  ReadPool(work::Budget& budget, ReadPoolOptions options = {});
  ~ReadPool();

  // `root` must outlive the call, `feed` may be null.
  std::unique_ptr<ReadCall> Start(const Context& ctx, const files::Root& root,
                                  CallOptions options,
                                  std::shared_ptr<ProgressFeed> feed = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One caller's files. Used by one thread. Its end stops what is still queued
// and waits for files being read.
class ReadCall {
 public:
  virtual ~ReadCall() = default;

  // Whether the budget has room for `files` now; takes it if so and queues
  // them. False leaves `files` untouched.
  virtual bool TryAdd(std::vector<FileRequest>& files) = 0;

  // The same, but waits for the room. For a caller that holds no lease of the
  // budget, not even in outcomes of this call, because it might wait for
  // itself.
  virtual Result<void> WaitAndAdd(std::vector<FileRequest>& files) = 0;

  // Files queued or read whose outcome was not yet handed out.
  virtual size_t outstanding() const = 0;

  // Outcomes that are ready, in no order; empty if there are none.
  virtual std::vector<Outcome> Take() = 0;

  // The same, but waits for at least one; empty only if nothing is
  // outstanding. Fails as ctx says; the files that are still outstanding then
  // have no outcome.
  virtual Result<std::vector<Outcome>> Wait() = 0;
};

}  // namespace casemate::readpool
