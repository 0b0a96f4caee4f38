// Pull: a tree in a store onto the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "casemate/push.h"

namespace casemate {

struct PullOptions {
  // What to do about an existing destination. An absent or empty one is used
  // in every mode.
  enum class Existing {
    kRefuse,   // kAlreadyExists, before anything is fetched.
    kReplace,  // Atomically, once the new tree is complete.
    kMerge,    // Into it, file by file, each replaced atomically.
  };
  Existing existing = Existing::kRefuse;
  bool safe_links = false;  // A link that is absolute or leaves the destination
                            // is a failed entry.
  bool preserve = false;    // Modes and times that the tree records.
  bool fsync = false;       // On return the tree survives power loss.
  int max_depth = 8192;
  int64_t max_entries = 10'000'000;
  int64_t max_bytes = INT64_MAX;
  std::shared_ptr<ProgressListener> listener = nullptr;  // May be null.
};

struct PullResult {
  int64_t files = 0;
  int64_t directories = 0;
  int64_t symlinks = 0;
  int64_t bytes = 0;          // Of all files.
  int64_t bytes_fetched = 0;  // Each distinct content once.
  std::vector<EntryError> failed;
};

// Materialises the Directory `root` at `directory`. The tree is planned and
// checked in full, every byte is verified, all of it is built in a staging
// directory beside the destination and appears in one rename, so a failed pull
// leaves nothing behind. (kMerge has no staging directory; there each file
// appears complete.) If a blob is missing or damaged, or an entry cannot be
// made, kReplace and kRefuse publish nothing: that is the call's error, and
// `failed` stays for entries refused by choice (safe_links).
//
// Files get 0644 or 0755 less the umask, and the present time. Blocks; may be
// called from several threads at once.
Result<PullResult> Pull(const Context& ctx, Resources& resources,
                        BlobStore& store, const Digest& root,
                        const std::string& directory,
                        const PullOptions& options = {});

}  // namespace casemate
