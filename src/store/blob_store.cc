#include "casemate/blob_store.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "store/streams.h"

namespace casemate {

std::vector<Result<Blob>> BlobStore::GetMany(const Context& ctx,
                                             std::span<const Digest> digests) {
  std::vector<Result<Blob>> blobs;
  blobs.reserve(digests.size());
  for (const Digest& digest : digests) {
    auto reader = Get(ctx, digest, 0);
    if (!reader) {
      blobs.push_back(reader.error());
      continue;
    }
    auto bytes = store::ReadAll(ctx, **reader, digest.size());
    blobs.push_back(bytes ? Blob::Verified(digest, *std::move(bytes))
                          : Result<Blob>(bytes.error()));
  }
  return blobs;
}

std::vector<Result<void>> BlobStore::PutMany(const Context& ctx,
                                             std::span<const Blob> blobs) {
  std::vector<Result<void>> results;
  results.reserve(blobs.size());
  for (const Blob& blob : blobs) {
    auto result = blob.Verify();
    if (result) {
      result = Put(ctx, blob.digest(), *store::MakeBytesSource(blob.bytes()));
    }
    results.push_back(std::move(result));
  }
  return results;
}

Result<std::unique_ptr<Reader>> BlobStore::GetEncoded(const Context& ctx,
                                                      const Digest& digest,
                                                      int64_t offset, Accept) {
  return Get(ctx, digest, offset);
}

std::optional<Result<std::unique_ptr<Reader>>> BlobStore::TryGet(const Digest&,
                                                                 int64_t,
                                                                 Accept) {
  return std::nullopt;
}

}  // namespace casemate
