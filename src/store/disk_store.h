// The disk store's inside: DiskStore of casemate/stores.h, put together.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "casemate/stores.h"
#include "store/blob_files.h"
#include "store/disk_folder.h"
#include "store/partial_writes.h"
#include "store/publisher.h"
#include "store/temp_folder.h"
#include "store/unfinished_file.h"
#include "store/usage_file.h"

namespace casemate::store {

class LocalDiskStore : public DiskStore {
 public:
  // As DiskStore::Open, with a clock, which must outlive the store.
  static Result<std::unique_ptr<DiskStore>> Open(const std::string& folder,
                                                 DiskStoreOptions options,
                                                 const base::Clock& clock);

  LocalDiskStore(std::string path, DiskFolder folder,
                 std::unique_ptr<UsageFile> usage, DiskStoreOptions options,
                 const base::Clock& clock);
  ~LocalDiskStore() override;

  Result<std::vector<Digest>> FindMissing(
      const Context& ctx, std::span<const Digest> digests) override;
  Result<std::unique_ptr<Reader>> Get(const Context& ctx, const Digest& digest,
                                      int64_t offset) override;
  Result<std::unique_ptr<Reader>> GetEncoded(const Context& ctx,
                                             const Digest& digest,
                                             int64_t offset,
                                             Accept accept) override;
  Result<void> Put(const Context& ctx, const Digest& digest,
                   const Source& source) override;
  Result<std::unique_ptr<Writer>> StartWrite(const Context& ctx,
                                             const Digest& digest,
                                             std::string_view id,
                                             Encoding encoding) override;
  std::vector<Result<Blob>> GetMany(const Context& ctx,
                                    std::span<const Digest> digests) override;
  std::vector<Result<void>> PutMany(const Context& ctx,
                                    std::span<const Blob> blobs) override;

  std::optional<Result<std::unique_ptr<Reader>>> TryGet(const Digest& digest,
                                                        int64_t offset,
                                                        Accept accept) override;

  const std::string& folder() const override { return path_; }
  int64_t ApproximateBytes() const override;
  Result<GcReport> Gc(const Context& ctx, const GcOptions& options) override;
  Result<VerifyReport> VerifyAll(const Context& ctx) override;

 private:
  class Alone;

  // Whether it is there; then it is durable, too.
  Result<bool> Has(const Context& ctx, const Digest& digest);
  Result<TempFile> CreateTemp();
  Result<Finished> WriteTemp(const Context& ctx, const Blob& blob);
  Result<Finished> WriteBlob(TempFile temp, const Blob& blob);

  const std::string path_;
  const DiskFolder folder_;
  const bool durable_;
  const base::Clock& clock_;
  const std::unique_ptr<UsageFile> usage_;
  const Result<std::unique_ptr<TempFolder>> temp_;  // Where writing is allowed.
  BlobFiles files_;
  Publisher publisher_;
  FileMaker maker_;
  PartialWrites partial_writes_;
  std::atomic<bool> alone_ = false;  // Gc or VerifyAll is running.
};

}  // namespace casemate::store
