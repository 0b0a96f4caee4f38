// TreeWalk: the directories of a stored tree, one after the other.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "casemate/blob_store.h"
#include "reapi/server/admission.h"
#include "tree/digest_numbers.h"

namespace casemate::reapi {

// Level by level from the root, each distinct directory once, as its
// stored bytes. Where a subdirectory is not stored the walk goes on
// without it and what lies below it.
//
// Held in memory: the digests of all directories met, for which memory is taken
// from `admission` as they come; one batch of directories of about 1 MiB, or a
// single larger one. One thread.
class TreeWalk {
 public:
  // A Directory of more bytes is none.
  static constexpr int64_t kMaxDirectoryBytes = int64_t{64} << 20;

  // All outlive it.
  TreeWalk(BlobStore& store, Admission& admission, const Digest& root);

  struct Directory {
    uint32_t number = 0;  // In the order of the walk, absent ones counted.
    Digest digest;
    Bytes bytes;
  };

  // The next one; nullopt at the end. kNotFound if the root is not stored;
  // kInvalidArgument for blobs that are no Directory or hold names that
  // would lead astray; kResourceExhausted if there is no memory for so
  // large a tree now; the store's errors, and those of `ctx`.
  Result<std::optional<Directory>> Next(const Context& ctx);

 private:
  Result<void> Fetch(const Context& ctx);
  Result<void> Take(const Context& ctx, uint32_t number, Result<Blob> blob);
  Result<void> CheckSize(const Context& ctx, uint32_t number);
  Result<void> Scan(const Context& ctx, const Blob& blob);
  Result<void> Meet(const Digest& digest);
  Result<Admission::Lease> TakeMemory(int64_t bytes);

  BlobStore& store_;
  Admission& admission_;
  std::vector<Digest> met_;  // By their numbers.
  tree::DigestNumbers numbers_;
  uint32_t fetched_ = 0;  // So many of them.
  std::deque<Directory> ready_;
  std::vector<Admission::Lease> leases_;  // For what was met,
  int64_t leased_ = 0;                    // together.
  Admission::Lease large_;                // For a directory above a batch.
};

}  // namespace casemate::reapi
