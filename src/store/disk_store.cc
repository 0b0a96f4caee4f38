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

// What a writer refuses, a source should not have yielded.
Result<void> FromSource(Result<void> taken) {
  if (taken) return taken;
  Error error = std::move(taken).error();
  if (error.code == Code::kInvalidArgument || error.code == Code::kOutOfRange) {
    error.code = Code::kDataLoss;
  }
  return error;
}

}  // namespace

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
  ASSIGN_OR_RETURN(DiskFolder opened, OpenDiskFolder(folder, options));
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
      files_(folder_.root, clock, folder_.top.IsInMemory().value_or(false),
             options.at_rest,
             [this](int64_t size) {
               usage_->Add({-size, -1});
             }),
      publisher_(folder_.root, folder_.top, durable_,
                 options.at_rest == Encoding::kZstd, clock, *usage_),
      maker_{[this] { return CreateTemp(); },
             {options.at_rest, options.zstd_level},
             durable_,
             publisher_},
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
  return GetEncoded(ctx, digest, offset, {});
}

Result<std::unique_ptr<Reader>> LocalDiskStore::GetEncoded(const Context& ctx,
                                                           const Digest& digest,
                                                           int64_t offset,
                                                           Accept accept) {
  RETURN_IF_ERROR(ctx.Check());
  RETURN_IF_ERROR(CheckOffset(digest, offset));
  if (digest::IsEmpty(digest)) return MakeBytesReader({}, 0);
  ShardCursor cursor(folder_.root);
  return files_.Open(ctx, cursor, digest, offset, accept);
}

std::optional<Result<std::unique_ptr<Reader>>> LocalDiskStore::TryGet(
    const Digest& digest, int64_t offset, Accept accept) {
  if (auto fits = CheckOffset(digest, offset); !fits) return fits.error();
  if (digest::IsEmpty(digest)) return MakeBytesReader({}, 0);
  return files_.TryOpen(digest, offset, accept);
}

Result<void> LocalDiskStore::Put(const Context& ctx, const Digest& digest,
                                 const Source& source) {
  ASSIGN_OR_RETURN(const bool has, Has(ctx, digest));
  if (has) return {};
  ASSIGN_OR_RETURN(const auto reader, source.Open(ctx, 0));
  ASSIGN_OR_RETURN(const auto writer,
                   StartWrite(ctx, digest, "", reader->encoding()));
  std::vector<std::byte> buffer(
      static_cast<size_t>(std::clamp<int64_t>(digest.size(), 1, kBufferBytes)));
  while (true) {
    ASSIGN_OR_RETURN(const size_t got, reader->Read(ctx, buffer));
    if (got == 0) break;
    const auto data = std::span(buffer).first(got);
    RETURN_IF_ERROR(FromSource(writer->Write(ctx, data)));
  }
  return FromSource(writer->Commit(ctx));
}

Result<std::unique_ptr<Writer>> LocalDiskStore::StartWrite(const Context& ctx,
                                                           const Digest& digest,
                                                           std::string_view id,
                                                           Encoding encoding) {
  return partial_writes_.Start(ctx, digest, id, encoding,
                               [&]() -> Result<std::unique_ptr<Unfinished>> {
                                 ASSIGN_OR_RETURN(TempFile temp, CreateTemp());
                                 return std::make_unique<UnfinishedFile>(
                                     maker_, digest, std::move(temp));
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
    auto written = WriteTemp(ctx, blobs[i]);
    if (written) {
      finished.push_back(*std::move(written));
      indices.push_back(i);
    } else {
      results[i] = std::move(written).error();
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

Result<Finished> LocalDiskStore::WriteTemp(const Context& ctx,
                                           const Blob& blob) {
  RETURN_IF_ERROR(ctx.Check());
  RETURN_IF_ERROR(blob.Verify());
  ASSIGN_OR_RETURN(TempFile temp, CreateTemp());
  auto finished = WriteBlob(std::move(temp), blob);
  if (!finished) return WriteError(std::move(finished).error());
  auto closed = finished->Close();
  if (!closed) return WriteError(std::move(closed).error());
  return finished;
}

Result<Finished> LocalDiskStore::WriteBlob(TempFile temp, const Blob& blob) {
  const int64_t size = blob.digest().size();
  const bool keeps =
      maker_.at_rest.form == Encoding::kZstd && size > kDiskBlock;
  if (keeps && blob.zstd().empty()) {
    OwnFile own(std::move(temp), size, maker_.at_rest, maker_.held);
    RETURN_IF_ERROR(own.Append(blob.bytes().span()));
    RETURN_IF_ERROR(own.Finish());
    const Encoding form = own.form();
    return Finished{blob.digest(), std::move(own.file()), form};
  }
  const bool as_frames =
      keeps && Saves(size, static_cast<int64_t>(blob.zstd().size()));
  const Bytes& bytes = as_frames ? blob.zstd() : blob.bytes();
  RETURN_IF_ERROR(temp.file().Write(bytes.span()));
  return Finished{blob.digest(), std::move(temp),
                  as_frames ? Encoding::kZstd : Encoding::kIdentity};
}

}  // namespace store
}  // namespace casemate
