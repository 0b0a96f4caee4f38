// BlobStore: what every store and every decorator of a store is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "casemate/blob.h"
#include "casemate/context.h"
#include "casemate/digest.h"
#include "casemate/io.h"
#include "casemate/result.h"

namespace casemate {

// Holds blobs under their digests. All methods may be called from any thread,
// block until done, and honour `ctx`. The empty blob is always there.
//
// Errors: kNotFound, absent. kDataLoss, bytes and digest disagree.
// kResourceExhausted, full or above a limit. kUnavailable, may be retried.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // The members of `digests` that this store lacks, each once, in the order
  // given. Absence is an answer here, never an error. A blob that is found is
  // marked as used, which protects it from eviction for a while.
  virtual Result<std::vector<Digest>> FindMissing(
      const Context& ctx, std::span<const Digest> digests) = 0;

  // Opens the blob for reading from `offset`; kNotFound if it is absent,
  // kOutOfRange if `offset` is negative or past its end. The reader yields
  // identity bytes and must not outlive the store.
  virtual Result<std::unique_ptr<Reader>> Get(const Context& ctx,
                                              const Digest& digest,
                                              int64_t offset) = 0;

  // Stores what `source` yields, in whichever encoding its readers name. May
  // open it again, at any offset, to retry or to resume. On return the blob is
  // visible to Get and FindMissing. kDataLoss if the bytes do not match; a
  // store that has the blob already need not look at them.
  virtual Result<void> Put(const Context& ctx, const Digest& digest,
                           const Source& source) = 0;

  // The same for bytes that arrive by themselves, as on a server, in
  // `encoding`; they are decoded and verified once, and a store that keeps zstd
  // keeps them as they came. A writer left uncommitted may be found again by
  // `id` and continued at its offset, in either encoding, for a while; an empty
  // `id` cannot. kAborted while another writer of that `id` is open. The writer
  // must not outlive the store.
  virtual Result<std::unique_ptr<Writer>> StartWrite(const Context& ctx,
                                                     const Digest& digest,
                                                     std::string_view id,
                                                     Encoding encoding) = 0;

  // Variations for hot paths. The defaults loop over the methods above, so a
  // decorator that does not care need not know them.

  // Whole small blobs, verified, one result for each digest in its order. One
  // item's failure is that item's alone. Their bytes are held in memory
  // together: it is the caller who keeps a batch within its budget.
  virtual std::vector<Result<Blob>> GetMany(const Context& ctx,
                                            std::span<const Digest> digests);

  // Stores small blobs, one result for each in its order. Together they cost
  // about one flush to disk or one request. Claimed blobs are verified.
  virtual std::vector<Result<void>> PutMany(const Context& ctx,
                                            std::span<const Blob> blobs);

  // As Get, but the reader may yield any encoding that `accept` allows (its
  // encoding() says which), so that bytes stored compressed can leave so.
  virtual Result<std::unique_ptr<Reader>> GetEncoded(const Context& ctx,
                                                     const Digest& digest,
                                                     int64_t offset,
                                                     Accept accept);

  // As GetEncoded, if nothing has to be waited for: the blob is in memory, or
  // its file's name and first bytes are in the kernel's caches and it has been
  // verified before. nullopt: ask GetEncoded where waiting is allowed. The
  // default always says so. Marks the blob as used, like a Get.
  virtual std::optional<Result<std::unique_ptr<Reader>>> TryGet(
      const Digest& digest, int64_t offset, Accept accept);

  // Whether none of this store's calls ever waits for a disk or a peer, so that
  // all of them may be made on a thread that must not block.
  virtual bool NeverWaits() const { return false; }
};

}  // namespace casemate
