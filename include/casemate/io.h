// Streams of bytes: Reader and Source out, Writer in, and their encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "casemate/bytes.h"
#include "casemate/context.h"
#include "casemate/result.h"

namespace casemate {

// How the bytes of a stream stand for the bytes of its blob.
enum class Encoding : uint8_t {
  kIdentity,  // They are the blob's bytes.
  kZstd,      // One or more zstd frames (RFC 8878) that decode to them.
};

// Which encodings a caller can take. Identity is always among them.
struct Accept {
  bool zstd = false;
};

// Bytes in order, once. One thread at a time. A reader of a whole blob that
// was read to its end without error has verified the blob's digest.
class Reader {
 public:
  virtual ~Reader() = default;

  // Fills the beginning of `buffer`; returns how many bytes, 0 at the end and
  // only there. `buffer` must not be empty. After an error the reader is spent.
  virtual Result<size_t> Read(const Context& ctx,
                              std::span<std::byte> buffer) = 0;

  // The same, as bytes of its own, between 1 and `max_bytes` (at least 1) of
  // them; empty at the end and only there. A reader over memory shares its
  // blob's bytes. The default reads into a new buffer.
  virtual Result<Bytes> Next(const Context& ctx, size_t max_bytes);

  // The same, if nothing has to be waited for: no disk, no peer, no long
  // computation. nullopt: nothing was read, ask Next where waiting is allowed.
  // The default always says so.
  virtual std::optional<Result<Bytes>> TryNext(size_t max_bytes);

  // What the bytes are encoded in.
  virtual Encoding encoding() const { return Encoding::kIdentity; }
};

// Something that can be read from any offset, again and again: what an upload
// needs to retry and to resume. Holds no descriptor and no buffer while nobody
// reads. Open may be called from any thread.
class Source {
 public:
  virtual ~Source() = default;

  // The number of bytes that an identity reader from offset 0 yields.
  virtual int64_t size() const = 0;

  // A reader from `offset` of the blob's own (not encoded) bytes, so an encoded
  // stream begins anew there. kFailedPrecondition when what lies behind has
  // changed since the source was made. The reader must not outlive the source.
  virtual Result<std::unique_ptr<Reader>> Open(const Context& ctx,
                                               int64_t offset) const = 0;
};

// Takes a blob's bytes as they arrive, in the encoding that it was started
// with. One thread at a time.
class Writer {
 public:
  virtual ~Writer() = default;

  // Bytes of the blob (not encoded) taken so far, which is where the next Write
  // continues; a writer that was found again expects a new frame there.
  virtual int64_t offset() const = 0;

  // Takes all of `data`, or fails. kOutOfRange past the blob's size, however
  // little of an encoding says so; kInvalidArgument for what is no such
  // encoding. After a failure the writer is spent and cannot be found again;
  // unless it was `ctx` that ended, then it is spent but can be found.
  virtual Result<void> Write(const Context& ctx,
                             std::span<const std::byte> data) = 0;

  // Checks size and digest and makes the blob visible, durably where the store
  // promises that. kInvalidArgument if bytes are missing or a frame has
  // no end, kDataLoss if the digest disagrees; either way nothing became
  // visible. At most once.
  virtual Result<void> Commit(const Context& ctx) = 0;
};

}  // namespace casemate
