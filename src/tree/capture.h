// A directory on disk becomes a Merkle tree of blobs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "casemate/blob.h"
#include "casemate/context.h"
#include "casemate/io.h"
#include "files/root.h"
#include "readpool/read_pool.h"
#include "tree/filter.h"
#include "work/budget.h"

namespace casemate::tree {

struct CaptureOptions {
  DigestFunction function = DigestFunction::kSha256;
  Filter filter = {};
  int max_depth = 8192;          // Of directories below the root; deeper fails.
  bool one_file_system = false;  // Mount points are skipped.
  bool record_properties = false;  // mtime and mode, as NodeProperties.
  int64_t keep_bytes = 1 << 20;    // Larger files become a LargeFile.
};

// What Capture finds, in the order it becomes known.

// A small file or a finished Directory. Nothing more is owed to the capture.
struct SmallBlob {
  Blob blob;
  work::Lease lease;  // Its memory; ends when the blob has been stored.
};

// A large file, digested but not kept. Its directory is finished only once the
// consumer has said Stored, or Failed, or Reread and so got it again.
struct LargeFile {
  uint64_t token = 0;
  std::string path;
  Digest digest;
  std::unique_ptr<Source> source;
};

struct FailedEntry {
  std::string path;
  Error error;
};

struct SkippedEntry {
  std::string path;
  std::string reason;  // "FIFO", "socket", "another file system", …
};

// The last item.
struct Captured {
  Digest root;
  int64_t files = 0;
  int64_t directories = 0;  // With the root.
  int64_t symlinks = 0;
  int64_t bytes = 0;  // Of the files.
};

using CaptureItem =
    std::variant<SmallBlob, LargeFile, FailedEntry, SkippedEntry, Captured>;

// Walks below `root` and hands out what it finds, children before their
// directory. Walking and building happen on the calling thread, inside Next;
// files are read by `pool`. An entry that cannot be read becomes a FailedEntry
// and is left out of its directory; the rest goes on. FIFOs, sockets and
// devices are skipped and never opened. Under Links::kFollow (see files::Root)
// a link stands for its target, and a link to a directory that is being walked
// above it is a FailedEntry ("loop").
//
// Memory: paths of directories not yet walked, entries of those not finished,
// and file content within the pool's budget.
//
// One thread. `root`, `pool` and `ctx` must outlive it.
class Capture {
 public:
  Capture(const Context& ctx, const files::Root& root, readpool::ReadPool& pool,
          CaptureOptions options,
          std::shared_ptr<readpool::ProgressFeed> feed = nullptr);
  ~Capture();

  // The next item that is ready. nullopt: nothing is ready without waiting for
  // readers or for the consumer to store LargeFiles; the consumer should let go
  // of what it holds back (leases!) before it waits.
  Result<std::optional<CaptureItem>> TryNext();

  // Waits for readers; false when nothing is being read, so that only Stored,
  // Failed or Reread can bring more.
  Result<bool> WaitForReaders();

  // Waits for the budget to have room for more files. Only for a consumer that
  // holds none of it itself, with nothing else left to wait for.
  Result<void> WaitForRoom();

  // For LargeFile::token, once each. Reread digests the file again, and at the
  // third time makes it a FailedEntry. Failed leaves it out; it is reported as
  // a FailedEntry item.
  void Stored(uint64_t token);
  void Failed(uint64_t token, Error error);
  void Reread(uint64_t token);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace casemate::tree
