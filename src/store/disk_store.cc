#include "store/disk_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/try.h"
#include "digest/hasher.h"
#include "store/disk_gc.h"
#include "store/streams.h"

namespace casemate {

Result<std::unique_ptr<DiskStore>> DiskStore::Open(const std::string& folder,
                                                   DiskStoreOptions options) {
  return store::LocalDiskStore::Open(folder, options, base::SystemClock());
}

namespace store {
namespace {

constexpr size_t kBufferBytes = 256 << 10;

// A large file is synced as it is written: syncfs waits for all that is dirty,
// and should not wait long.
constexpr int64_t kSyncBytes = 64 << 20;

}  // namespace

// A file that grows to a blob, sparse where the blob is.
class LocalDiskStore::UnfinishedFile : public Unfinished {
 public:
  UnfinishedFile(LocalDiskStore& store, const Digest& digest, TempFile file)
      : store_(store), digest_(digest), file_(std::move(file)) {}

  Result<void> Append(const Context&,
                      std::span<const std::byte> data) override {
    auto written = file_.file().WriteSparse(data);
    unsynced_ += static_cast<int64_t>(data.size());
    if (written && store_.durable_ && unsynced_ >= kSyncBytes) {
      unsynced_ = 0;
      written = file_.file().Sync();
    }
    return written ? written : WriteError(written.error());
  }

  Result<void> Publish(const Context& ctx) override {
    auto written = file_.file().FinishSparse();
    if (written) written = file_.Close();
    if (!written) return WriteError(std::move(written).error());
    Finished blob = {digest_, std::move(file_), {}};
    store_.publisher_.Publish(ctx, std::span(&blob, 1));
    return std::move(blob.result);
  }

 private:
  LocalDiskStore& store_;
  const Digest digest_;
  TempFile file_;
  int64_t unsynced_ = 0;
};

// Holds the store against other processes, and against a second one of itself.
class LocalDiskStore::Alone {
 public:
  static Result<std::unique_ptr<Alone>> Take(LocalDiskStore& store) {
    if (store.alone_.exchange(true)) {
      return Error{Code::kFailedPrecondition,
                   "gc or verify is running already"};
    }
    if (auto locked = LockAlone(store.folder_); !locked) {
      store.alone_ = false;
      return std::move(locked).error();
    }
    return std::make_unique<Alone>(store);
  }

  explicit Alone(LocalDiskStore& store) : store_(store) {}
  ~Alone() {
    (void)LockShared(store_.folder_);
    store_.alone_ = false;
  }

 private:
  LocalDiskStore& store_;
};

Result<std::unique_ptr<DiskStore>> LocalDiskStore::Open(
    const std::string& folder, DiskStoreOptions options,
    const base::Clock& clock) {
  const bool durable = options.sync == DiskStoreOptions::Sync::kAlways;
  ASSIGN_OR_RETURN(DiskFolder opened, OpenDiskFolder(folder, durable));
  // What cannot be removed now is left to the next process.
  (void)TempFolder::RemoveDead({}, opened.root);
  ASSIGN_OR_RETURN(auto usage, UsageFile::Open(opened.top));
  return std::make_unique<LocalDiskStore>(folder, std::move(opened),
                                          std::move(usage), options, clock);
}

LocalDiskStore::LocalDiskStore(std::string path, DiskFolder folder,
                               std::unique_ptr<UsageFile> usage,
                               DiskStoreOptions options,
                               const base::Clock& clock)
    : path_(std::move(path)),
      folder_(std::move(folder)),
      durable_(options.sync == DiskStoreOptions::Sync::kAlways),
      clock_(clock),
      usage_(std::move(usage)),
      temp_(TempFolder::Make(folder_.root)),
      files_(folder_.root, clock,
             [this](int64_t size) {
               usage_->Add({-size, -1});
             }),
      publisher_(folder_.root, folder_.top, durable_, clock, *usage_),
      partial_writes_({}, clock) {}

LocalDiskStore::~LocalDiskStore() = default;

Result<std::vector<Digest>> LocalDiskStore::FindMissing(
    const Context& ctx, std::span<const Digest> digests) {
  std::vector<bool> is_missing(digests.size());
  int64_t newest = INT64_MIN;
  ShardCursor cursor(folder_.root);
  const Digest* last = nullptr;
  for (const size_t i : DiskOrder(digests)) {
    const Digest& digest = digests[i];
    if (digest::IsEmpty(digest) || (last != nullptr && digest == *last)) {
      continue;
    }
    last = &digest;
    RETURN_IF_ERROR(ctx.Check());
    const auto found = files_.Find(ctx, cursor, digest);
    if (found) {
      newest = std::max(newest, found->stat.ctime);
    } else if (found.error().code == Code::kNotFound ||
               found.error().code == Code::kDataLoss) {
      is_missing[i] = true;
    } else {
      return found.error();
    }
  }
  RETURN_IF_ERROR(publisher_.Secure(ctx, newest));
  std::vector<Digest> missing;
  for (size_t i = 0; i < digests.size(); ++i) {
    if (is_missing[i]) missing.push_back(digests[i]);
  }
  return missing;
}

Result<std::unique_ptr<Reader>> LocalDiskStore::Get(const Context& ctx,
                                                    const Digest& digest,
                                                    int64_t offset) {
  RETURN_IF_ERROR(ctx.Check());
  RETURN_IF_ERROR(CheckOffset(digest, offset));
  if (digest::IsEmpty(digest)) return MakeBytesReader({}, 0);
  return files_.Open(ctx, digest, offset);
}

Result<void> LocalDiskStore::Put(const Context& ctx, const Digest& digest,
                                 const Source& source) {
  ASSIGN_OR_RETURN(const bool has, Has(ctx, digest));
  if (has) return {};
  ASSIGN_OR_RETURN(const auto reader, OpenIdentity(ctx, source, digest.size()));
  ASSIGN_OR_RETURN(TempFile temp, CreateTemp());
  UnfinishedFile file(*this, digest, std::move(temp));
  digest::Hasher hasher(digest.function());
  std::vector<std::byte> buffer(
      static_cast<size_t>(std::clamp<int64_t>(digest.size(), 1, kBufferBytes)));
  while (hasher.size() <= digest.size()) {
    ASSIGN_OR_RETURN(const size_t got, reader->Read(ctx, buffer));
    if (got == 0) break;
    const auto data = std::span(buffer).first(got);
    hasher.Update(data);
    RETURN_IF_ERROR(file.Append(ctx, data));
  }
  const Digest actual = hasher.Finish();
  if (actual != digest) return digest::Mismatch(digest, actual);
  return file.Publish(ctx);
}

Result<std::unique_ptr<Writer>> LocalDiskStore::StartWrite(
    const Context& ctx, const Digest& digest, std::string_view id) {
  return partial_writes_.Start(
      ctx, digest, id, [&]() -> Result<std::unique_ptr<Unfinished>> {
        ASSIGN_OR_RETURN(TempFile temp, CreateTemp());
        return std::make_unique<UnfinishedFile>(*this, digest, std::move(temp));
      });
}

std::vector<Result<Blob>> LocalDiskStore::GetMany(
    const Context& ctx, std::span<const Digest> digests) {
  std::vector<Result<Blob>> blobs(digests.size());
  ShardCursor cursor(folder_.root);
  const Result<Blob>* last = nullptr;
  for (const size_t i : DiskOrder(digests)) {
    const Digest& digest = digests[i];
    if (last != nullptr && *last && (*last)->digest() == digest) {
      blobs[i] = *last;
      continue;
    }
    last = &blobs[i];
    if (auto live = ctx.Check(); !live) {
      blobs[i] = live.error();
      continue;
    }
    auto bytes = digest::IsEmpty(digest)
                     ? Result<Bytes>(Bytes())
                     : files_.ReadWhole(ctx, cursor, digest);
    blobs[i] = bytes ? Blob::Verified(digest, *std::move(bytes))
                     : Result<Blob>(bytes.error());
  }
  return blobs;
}

std::vector<Result<void>> LocalDiskStore::PutMany(const Context& ctx,
                                                  std::span<const Blob> blobs) {
  std::vector<Result<void>> results(blobs.size());
  std::vector<Finished> finished;
  std::vector<size_t> indices;  // Of those, in `blobs`.
  finished.reserve(blobs.size());
  for (size_t i = 0; i < blobs.size(); ++i) {
    auto temp = WriteTemp(ctx, blobs[i]);
    if (temp) {
      finished.push_back({blobs[i].digest(), *std::move(temp), {}});
      indices.push_back(i);
    } else {
      results[i] = std::move(temp).error();
    }
  }
  publisher_.Publish(ctx, finished);
  for (size_t i = 0; i < finished.size(); ++i) {
    results[indices[i]] = std::move(finished[i].result);
  }
  return results;
}

int64_t LocalDiskStore::ApproximateBytes() const { return usage_->Now().bytes; }

Result<GcReport> LocalDiskStore::Gc(const Context& ctx,
                                    const GcOptions& options) {
  ASSIGN_OR_RETURN(const auto alone, Alone::Take(*this));
  ASSIGN_OR_RETURN(const GcReport report,
                   CollectGarbage(ctx, folder_.root, clock_, options));
  if (!options.dry_run) {
    RETURN_IF_ERROR(RemoveDamaged(ctx, folder_.root));
    usage_->Set({report.bytes_before - report.bytes_removed,
                 report.blobs_before - report.blobs_removed});
  }
  return report;
}

Result<VerifyReport> LocalDiskStore::VerifyAll(const Context& ctx) {
  ASSIGN_OR_RETURN(const auto alone, Alone::Take(*this));
  return VerifyBlobs(ctx, folder_.root, files_);
}

Result<bool> LocalDiskStore::Has(const Context& ctx, const Digest& digest) {
  ASSIGN_OR_RETURN(const auto missing, FindMissing(ctx, std::span(&digest, 1)));
  return missing.empty();
}

Result<TempFile> LocalDiskStore::CreateTemp() {
  if (!temp_) return WriteError(temp_.error());
  return (*temp_)->Create();
}

Result<TempFile> LocalDiskStore::WriteTemp(const Context& ctx,
                                           const Blob& blob) {
  RETURN_IF_ERROR(ctx.Check());
  RETURN_IF_ERROR(blob.Verify());
  ASSIGN_OR_RETURN(TempFile temp, CreateTemp());
  auto written = temp.file().Write(blob.bytes().span());
  if (written) written = temp.Close();
  if (!written) return WriteError(std::move(written).error());
  return temp;
}

}  // namespace store
}  // namespace casemate
