// Making stores.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "casemate/blob_store.h"

namespace casemate {

// A store in memory. `max_bytes` bounds it: beyond, kResourceExhausted.
std::unique_ptr<BlobStore> MakeMemoryStore(int64_t max_bytes = INT64_MAX);

struct DiskStoreOptions {
  // What an acknowledged write survives. kAlways: the process's end and power
  // loss. kOff: the process's end alone; for caches that may be lost.
  enum class Sync { kAlways, kOff };
  Sync sync = Sync::kAlways;

  // How new blobs are kept: as they are, or as zstd where that saves at least 5
  // % and a block of the disk. A store may hold both; all are read in either
  // case. A blob that arrives as zstd is kept as it came, under kZstd.
  Encoding at_rest = Encoding::kIdentity;
  int zstd_level = 3;  // Of what the store compresses itself.

  // Not empty: this process serves the folder to others at that address. One
  // process at a time can; all others are refused with a message that names it.
  std::string server = {};
};

// What gc did, or what verify found.
struct GcReport {
  int64_t blobs_before = 0;
  int64_t bytes_before = 0;
  int64_t blobs_removed = 0;
  int64_t bytes_removed = 0;
};

struct VerifyReport {
  int64_t blobs = 0;
  int64_t bytes = 0;
  std::vector<std::string> damaged;  // Digests moved aside.
  std::vector<std::string> foreign;  // Files that are none of ours; left alone.
};

struct GcOptions {
  int64_t max_bytes = INT64_MAX;   // Keep at most this much,
  int64_t older_than_seconds = 0;  // and remove what is unused for longer (0:
                                   // no such limit); least recently used first.
  // Seconds since the epoch. What was used since then stays, even above
  // max_bytes: a push does not collect the tree that it has just stored.
  int64_t spare_used_since = INT64_MAX;
  bool dry_run = false;
};

// A store on the local disk, in the layout of docs/formats/disk-store.md. Many
// processes may use one folder at once.
class DiskStore : public BlobStore {
 public:
  // Opens or makes the folder. kFailedPrecondition if its VERSION is unknown,
  // if it is not a store and not empty, if gc or verify hold it, or if a server
  // has it open.
  static Result<std::unique_ptr<DiskStore>> Open(const std::string& folder,
                                                 DiskStoreOptions options = {});

  // The folder, as it was given to Open.
  virtual const std::string& folder() const = 0;

  // Bytes held, as far as is known without looking: exact after Gc, and kept
  // up by writers since.
  virtual int64_t ApproximateBytes() const = 0;

  // Both need the folder alone: kFailedPrecondition, "in use", while another
  // process has it open.
  virtual Result<GcReport> Gc(const Context& ctx, const GcOptions& options) = 0;
  virtual Result<VerifyReport> VerifyAll(const Context& ctx) = 0;
};

}  // namespace casemate
