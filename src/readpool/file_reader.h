// Reading one file, a slice at a time, on whichever reader has it now.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "casemate/bytes.h"
#include "digest/hasher.h"
#include "files/file.h"
#include "files/file_cursor.h"
#include "readpool/read_pool.h"

namespace casemate::readpool {

// What the files of one call have in common; used by all who read them.
struct Job {
  const Context ctx;
  const files::Root& root;
  const CallOptions options;
  const std::shared_ptr<ProgressFeed> feed;  // May be null.
  work::Budget& budget;
  std::atomic<bool> ended = false;  // Nobody wants the outcomes any more.

  bool Stopped() const {
    return ended.load(std::memory_order_relaxed) || !ctx.Check();
  }
};

// A file that is open and was read up to `offset`. A reader uses one again and
// again, because for a small file making it would cost too much.
struct Reading {
  explicit Reading(digest::Hasher made) : hasher(std::move(made)) {}

  digest::Hasher hasher;
  std::optional<files::File> file = {};
  Bytes content = {};         // What stays in memory, and
  std::byte* into = nullptr;  // where it is still being written. Else null.
  int64_t offset = 0;
  int64_t reported = 0;  // Of `offset`, to the feed.
};

// A file of a call on its way from request to outcome.
struct Task {
  FileRequest request;
  work::Lease lease = {};
  int changes = 0;                        // How often it was found changed.
  bool awaited = false;                   // The disk was just waited for.
  std::unique_ptr<Reading> reading = {};  // Between the slices.
};

// What a file costs of the budget until its outcome is let go of.
int64_t Cost(const files::Stat& stat, const CallOptions& options);

// Waits until the next bytes of `task` are in the page cache.
void AwaitDisk(Task& task);

enum class Step : uint8_t {
  kDone,     // The outcome is known.
  kMore,     // The slice is used up.
  kBlocked,  // The next bytes are still to come from the disk.
  kChanged,  // It begins anew, better a little later.
  kStopped,  // Its call has ended.
};

// One reader's means: a buffer, and what serves one file after the other.
class FileReader {
 public:
  explicit FileReader(std::span<std::byte> buffer) : buffer_(buffer) {}

  // Reads a slice of `task`. `outcome` is set only with kDone.
  Step Read(const Job& job, Task& task, Outcome& outcome);

  // Forgets what it has learnt of where the last tasks' files are. To be called
  // before one of another job, and before it waits.
  void EndSlice();

 private:
  Result<Step> Advance(const Job& job, Task& task, Outcome& outcome);
  Result<void> Open(const Job& job, Task& task);
  Result<Step> ReadSized(const Job& job, Task& task);
  Result<Step> ReadUnsized(const Job& job, Task& task);
  Result<size_t> ReadSome(Task& task, int64_t offset,
                          std::span<std::byte> buffer);
  Result<void> Finish(const Job& job, Task& task, Outcome& outcome);
  Step Fail(const Job& job, Task& task, Error error, Outcome& outcome);

  std::unique_ptr<Reading> TakeReading(DigestFunction function);
  void PutBack(std::unique_ptr<Reading> reading);

  const std::span<std::byte> buffer_;
  std::unique_ptr<Reading> spare_;
  files::FileCursor cursor_;
  std::optional<uint64_t> untold_;  // Device of files that cannot TryReadAt.
};

}  // namespace casemate::readpool
