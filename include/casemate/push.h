// Push: a directory on disk into a store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "casemate/blob_store.h"
#include "casemate/context.h"
#include "casemate/progress.h"
#include "casemate/resources.h"

namespace casemate {

// An entry that could not be transferred. The rest was.
struct EntryError {
  std::string path;  // Relative to the directory.
  Error error;
};

// An entry that is left out on purpose: FIFO, socket, device, other filesystem.
struct SkippedPath {
  std::string path;
  std::string reason;
};

struct PathRule {
  bool include = false;  // Else exclude.
  std::string pattern;   // As in a .gitignore; see docs/filters.md.
};

struct PushOptions {
  DigestFunction function = DigestFunction::kSha256;
  std::vector<PathRule> rules = {};  // The last match wins.
  bool follow_symlinks = false;      // Links stand for their targets.
  bool one_file_system = false;
  bool preserve = false;  // Record modes and times in the tree.
  bool dry_run = false;   // Digest, ask what is missing, store nothing.
  int max_depth = 8192;
  std::shared_ptr<ProgressListener> listener = nullptr;  // May be null.
};

struct PushResult {
  Digest root;  // Of the REAPI Directory; without the failed entries.
  int64_t files = 0;
  int64_t directories = 0;
  int64_t symlinks = 0;
  int64_t bytes = 0;         // Of all files.
  // What the store lacked. Equal files count once, unless they were stored at
  // the very same time.
  int64_t blobs_stored = 0;
  int64_t bytes_stored = 0;
  std::vector<EntryError> failed;
  std::vector<SkippedPath> skipped;
};

// Captures the tree below `directory` (the caller's own path: trusted, may lead
// through links; nothing below it is) and stores what `store` lacks, children
// before parents, the root last. An entry that cannot be read or keeps changing
// lands in `failed`; an error of the store or of `directory` itself, or a
// cancellation, is the call's error. Nothing is ever stored under a wrong
// digest. Blocks; may be called from several threads at once.
Result<PushResult> Push(const Context& ctx, Resources& resources,
                        BlobStore& store, const std::string& directory,
                        const PushOptions& options = {});

}  // namespace casemate
