// BlobFiles: finding and reading the blobs of a disk store.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "casemate/bytes.h"
#include "casemate/io.h"
#include "files/root.h"
#include "store/disk_layout.h"
#include "store/trust_table.h"

namespace casemate::store {

// A blob that was used within this time is not marked as used again.
inline constexpr std::chrono::nanoseconds kMarkAfter = std::chrono::hours(1);

// Decides which files are to be believed. A file that proves damaged is moved
// aside, here and nowhere else. Safe from many threads.
class BlobFiles {
 public:
  // `root` must outlive it. `on_removed` is told the size of each file that is
  // moved aside.
  BlobFiles(const files::Root& root, const base::Clock& clock,
            std::function<void(int64_t)> on_removed);

  // What lies under a digest's name; valid as long as its cursor stays there.
  struct Found {
    const files::Directory* shard = nullptr;
    std::string name;
    files::Stat stat;
  };

  // The blob's file, of the right size, and marks it as used. kNotFound if it
  // is absent; kDataLoss if it was damaged, and is absent from now on.
  Result<Found> Find(const Context& ctx, ShardCursor& cursor,
                     const Digest& digest);

  // A reader from `offset`, which must be within the blob.
  Result<std::unique_ptr<Reader>> Open(const Context& ctx, const Digest& digest,
                                       int64_t offset);

  // All of a blob, verified.
  Result<Bytes> ReadWhole(const Context& ctx, ShardCursor& cursor,
                          const Digest& digest);

  // Hashes the whole file and concludes. For `digest`, only the hash counts;
  // the file's own size is taken.
  Result<void> Check(const Context& ctx, const files::File& file,
                     const Digest& digest);

  // What hashing the file's bytes has shown: trusts it from now on, or moves it
  // aside and returns kDataLoss.
  Result<void> Conclude(const files::File& file, const Digest& digest,
                        const Digest& actual);

  // The same for a file with fewer bytes than when it was opened.
  Error Shrunk(const files::File& file, const Digest& digest);

  // Moves the file aside because of `error`, and returns that with words about
  // where it happened.
  Error Damaged(const files::File& file, const Digest& digest, Error error);

 private:
  Result<files::File> OpenFound(const Digest& digest, const Found& found);
  Result<void> Suspect(const Context& ctx, const Digest& digest,
                       const Found& found);
  void MarkUsed(const Digest& digest, Found& found);
  void Trust(const files::File& file, const Digest& digest);
  Result<void> MoveAside(const files::Stat& damaged, const Digest& digest);

  const files::Root& root_;
  const base::Clock& clock_;
  const std::function<void(int64_t)> on_removed_;
  TrustTable trust_;
};

}  // namespace casemate::store
