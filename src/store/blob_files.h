// BlobFiles: finding and reading the blobs of a disk store.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "casemate/bytes.h"
#include "casemate/io.h"
#include "files/root.h"
#include "store/block_table.h"
#include "store/disk_layout.h"
#include "store/trust_table.h"

namespace casemate::store {

// A blob that was used within this time is not marked as used again.
inline constexpr std::chrono::nanoseconds kMarkAfter = std::chrono::hours(1);

// A blob's file, open. For identity ones the digest's size may be wrong.
struct StoredFile {
  files::File file;
  Digest digest;
  Encoding form = Encoding::kIdentity;
};

// Decides which files are to be believed. A file that proves damaged is moved
// aside, here and nowhere else. Safe from many threads.
class BlobFiles {
 public:
  // `root` must outlive it. `on_removed` is told the size of each file that is
  // moved aside. `in_memory`: the files are on tmpfs, where reading never
  // waits. `usual` is the form to look for first.
  BlobFiles(const files::Root& root, const base::Clock& clock, bool in_memory,
            Encoding usual, std::function<void(int64_t)> on_removed);

  // What lies under a digest's name; valid as long as its cursor stays there.
  struct Found {
    const files::Directory* shard = nullptr;
    BlobPath path;
    Encoding form = Encoding::kIdentity;
    files::Stat stat;
  };

  // The blob's file, of the right size, and marks it as used. kNotFound if it
  // is absent; kDataLoss if it was damaged, and is absent from now on.
  Result<Found> Find(const Context& ctx, ShardCursor& cursor,
                     const Digest& digest);

  // A reader from `offset`, which must be within the blob.
  Result<std::unique_ptr<Reader>> Open(const Context& ctx, ShardCursor& cursor,
                                       const Digest& digest, int64_t offset,
                                       Accept accept);

  // The same if nothing has to be waited for, see BlobStore::TryGet; only blobs
  // that are trusted already.
  std::optional<Result<std::unique_ptr<Reader>>> TryOpen(const Digest& digest,
                                                         int64_t offset,
                                                         Accept accept);

  // All of a blob, verified.
  Result<Bytes> ReadWhole(const Context& ctx, ShardCursor& cursor,
                          const Digest& digest);

  // Reads all of the file and concludes. Of an identity file's digest only the
  // hash counts; the file's own size is taken.
  Result<Trusted> Check(const Context& ctx, const StoredFile& stored);

  // What looking at all of the file's bytes has shown: trusts it from now on,
  // or moves it aside and returns kDataLoss. Other errors say nothing.
  Result<void> Conclude(const StoredFile& stored, const Result<Trusted>& shown);

  // The same for a file with fewer bytes than when it was opened.
  Error Shrunk(const StoredFile& stored);

  // Moves the file aside because of `error`, and returns that with words about
  // where it happened.
  Error Damaged(const StoredFile& stored, Error error);

  // What can be read without waiting, at least a byte; nullopt if nothing can.
  std::optional<size_t> ReadNow(const files::File& file, int64_t position,
                                std::span<std::byte> buffer) const;

 private:
  using Opened = std::optional<Result<std::unique_ptr<Reader>>>;

  std::array<Encoding, 2> Order() const;
  bool MayHoldZstd(ShardCursor& cursor);
  Result<Found> FindForm(const Context& ctx, const files::Directory& shard,
                         const Digest& digest, Encoding form);
  std::optional<Trusted> HowTrusted(const Digest& digest, Encoding form,
                                    const files::Stat& stat) const;
  Result<std::unique_ptr<Reader>> OpenFrames(const Context& ctx,
                                             StoredFile stored, int64_t offset,
                                             Accept accept);
  Result<std::unique_ptr<Reader>> OpenBlocks(StoredFile stored,
                                             BlockTable& table, int64_t offset,
                                             Accept accept);
  Result<Bytes> EncodeRest(const StoredFile& stored, int64_t position,
                           int64_t frame, int64_t length, int64_t skip);
  Result<Bytes> ReadIdentity(const StoredFile& stored);
  std::optional<std::unique_ptr<Reader>> TryOpenFrames(StoredFile stored,
                                                       Trusted how,
                                                       int64_t offset,
                                                       Accept accept);
  Result<Trusted> CheckIdentity(const Context& ctx, const StoredFile& stored);
  Result<Trusted> CheckFrames(const Context& ctx, const StoredFile& stored);
  bool IsDue(const files::Stat& stat, int64_t now) const;
  Result<StoredFile> OpenFound(const Digest& digest, const Found& found);
  Result<void> Suspect(const Context& ctx, const Digest& digest,
                       const Found& found);
  void MarkUsed(const Digest& digest, Found& found);
  void Trust(const StoredFile& stored, Trusted as);
  Result<void> MoveAside(const StoredFile& damaged);

  const files::Root& root_;
  const base::Clock& clock_;
  const bool in_memory_;
  const Encoding usual_;
  const std::function<void(int64_t)> on_removed_;
  std::atomic<bool> may_hold_zstd_;  // Once true it stays so.
  TrustTable trust_;
};

}  // namespace casemate::store
