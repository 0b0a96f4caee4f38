// Blob: a small blob, whole in memory, beside its digest.
#pragma once

#include <utility>

#include "casemate/bytes.h"
#include "casemate/digest.h"

namespace casemate {

// Whether bytes match their digest is decided once, where the digest was
// computed, and travels with the blob, so that nobody hashes them again.
class Blob {
 public:
  Blob() = default;

  // Computes the digest.
  static Blob Of(DigestFunction function, Bytes bytes);

  // The caller vouches that `digest` was computed over these very bytes.
  static Blob Verified(const Digest& digest, Bytes bytes) {
    return Blob(digest, std::move(bytes), true);
  }

  // Somebody says so. A store checks before it keeps or returns them.
  static Blob Claimed(const Digest& digest, Bytes bytes) {
    return Blob(digest, std::move(bytes), false);
  }

  const Digest& digest() const { return digest_; }
  const Bytes& bytes() const { return bytes_; }
  bool verified() const { return verified_; }

  // The same blob with its bytes once more as zstd frames, which the caller has
  // decoded and found to be them. A store that keeps zstd keeps those.
  Blob WithZstd(Bytes frames) const {
    Blob blob = *this;
    blob.zstd_ = std::move(frames);
    return blob;
  }
  const Bytes& zstd() const { return zstd_; }  // Empty if there is none.

  // kDataLoss unless the bytes match the digest. Hashes only a claimed blob.
  Result<void> Verify() const;

 private:
  Blob(const Digest& digest, Bytes bytes, bool verified)
      : digest_(digest), bytes_(std::move(bytes)), verified_(verified) {}

  Digest digest_;
  Bytes bytes_;
  Bytes zstd_;
  bool verified_ = false;
};

}  // namespace casemate
