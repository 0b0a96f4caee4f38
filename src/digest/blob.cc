#include "casemate/blob.h"

#include "digest/hasher.h"

namespace casemate {

Blob Blob::Of(DigestFunction function, Bytes bytes) {
  const Digest digest = digest::Hash(function, bytes.span());
  return Verified(digest, std::move(bytes));
}

Result<void> Blob::Verify() const {
  if (verified_) return {};
  const Digest actual = digest::Hash(digest_.function(), bytes_.span());
  if (actual != digest_) return digest::Mismatch(digest_, actual);
  return {};
}

}  // namespace casemate
