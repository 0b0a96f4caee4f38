// CountingStore: how a store was used.
#pragma once

#include <atomic>
#include <cstdint>

#include "casemate/blob_store.h"

namespace casemate::testing {

// Passes every call on, and counts them. `inner` must outlive it.
class CountingStore : public BlobStore {
 public:
  explicit CountingStore(BlobStore& inner) : inner_(inner) {}

  Result<std::vector<Digest>> FindMissing(
      const Context& ctx, std::span<const Digest> digests) override {
    ++find_missing;
    return inner_.FindMissing(ctx, digests);
  }
  Result<std::unique_ptr<Reader>> Get(const Context& ctx, const Digest& digest,
                                      int64_t offset) override {
    ++get;
    return inner_.Get(ctx, digest, offset);
  }
  Result<void> Put(const Context& ctx, const Digest& digest,
                   const Source& source) override {
    ++put;
    return inner_.Put(ctx, digest, source);
  }
  Result<std::unique_ptr<Writer>> StartWrite(const Context& ctx,
                                             const Digest& digest,
                                             std::string_view id,
                                             Encoding encoding) override {
    ++start_write;
    return inner_.StartWrite(ctx, digest, id, encoding);
  }
  std::vector<Result<Blob>> GetMany(const Context& ctx,
                                    std::span<const Digest> digests) override {
    ++get_many;
    got += static_cast<int64_t>(digests.size());
    return inner_.GetMany(ctx, digests);
  }
  std::vector<Result<void>> PutMany(const Context& ctx,
                                    std::span<const Blob> blobs) override {
    ++put_many;
    given += static_cast<int64_t>(blobs.size());
    return inner_.PutMany(ctx, blobs);
  }

  // Calls.
  std::atomic<int64_t> find_missing = 0, get = 0, put = 0, start_write = 0,
                       get_many = 0, put_many = 0;
  // Blobs asked of get_many, and given to put_many.
  std::atomic<int64_t> got = 0, given = 0;

 private:
  BlobStore& inner_;
};

}  // namespace casemate::testing
