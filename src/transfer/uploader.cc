#include "transfer/uploader.h"

#include <atomic>
#include <utility>

#include "base/try.h"

namespace casemate::transfer {
namespace {

constexpr size_t kBatchBlobs = 2048;
constexpr int64_t kBatchBytes = 4 << 20;

// Remembers what went wrong on the file's side, because the error that Put
// returns does not say whose it is.
class WatchedSource : public Source {
 public:
  explicit WatchedSource(const Source& source) : source_(source) {}

  int64_t size() const override { return source_.size(); }

  Result<std::unique_ptr<Reader>> Open(const Context& ctx,
                                       int64_t offset) const override {
    auto reader = source_.Open(ctx, offset);
    if (!reader) return Note(reader.error());
    return std::make_unique<WatchedReader>(*this, std::move(*reader));
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  class WatchedReader : public Reader {
   public:
    WatchedReader(const WatchedSource& source, std::unique_ptr<Reader> reader)
        : source_(source), reader_(std::move(reader)) {}

    Result<size_t> Read(const Context& ctx,
                        std::span<std::byte> buffer) override {
      auto count = reader_->Read(ctx, buffer);
      if (!count) return source_.Note(count.error());
      return count;
    }

    Encoding encoding() const override { return reader_->encoding(); }

   private:
    const WatchedSource& source_;
    const std::unique_ptr<Reader> reader_;
  };

  Error Note(Error error) const {
    if (error.code != Code::kCancelled &&
        error.code != Code::kDeadlineExceeded) {
      error_ = error;
    }
    return error;
  }

  const Source& source_;
  mutable std::optional<Error> error_;
};

// Takes from `blobs` those that are `missing`, which names each once and in
// their order, as FindMissing does.
Result<std::vector<Blob>> TakeMembers(std::vector<Blob>& blobs,
                                      const std::vector<Digest>& missing) {
  std::vector<Blob> members;
  members.reserve(missing.size());
  for (Blob& blob : blobs) {
    if (members.size() == missing.size()) break;
    if (blob.digest() != missing[members.size()]) continue;
    members.push_back(std::move(blob));
  }
  if (members.size() == missing.size()) return members;
  return Error{Code::kInternal,
               "the store says out of order, or unasked, what it lacks"};
}

}  // namespace

Uploader::Uploader(const Context& ctx, work::Pool& pool, BlobStore& store,
                   std::shared_ptr<readpool::ProgressFeed> feed,
                   Options options)
    : store_(store),
      feed_(std::move(feed)),
      options_(options),
      group_(ctx, pool, options.width) {}

Result<void> Uploader::Add(tree::SmallBlob small) {
  gathered_.bytes += static_cast<int64_t>(small.blob.bytes().size());
  gathered_.blobs.push_back(std::move(small.blob));
  gathered_.lease.Merge(std::move(small.lease));
  if (gathered_.blobs.size() < kBatchBlobs && gathered_.bytes < kBatchBytes) {
    return {};
  }
  return Flush();
}

Result<void> Uploader::Add(tree::LargeFile large) {
  auto shared = std::make_shared<tree::LargeFile>(std::move(large));
  return Start(
      [this, shared](const Context& ctx) { return StoreLarge(ctx, *shared); });
}

Result<void> Uploader::FlushIfFree() {
  {
    base::MutexLock lock(mutex_);
    if (under_way_ >= options_.width) return {};
  }
  return Flush();
}

Result<void> Uploader::Flush() {
  if (gathered_.blobs.empty()) return {};
  auto batch = std::make_shared<Batch>(std::exchange(gathered_, {}));
  return Start([this, batch](const Context& ctx) {
    auto stored = StoreBatch(ctx, *batch);
    *batch = {};  // The lease ends with the upload, not with the closure.
    return stored;
  });
}

Result<void> Uploader::Start(
    std::function<Result<void>(const Context&)> upload) {
  {
    base::MutexLock lock(mutex_);
    ++under_way_;
  }
  auto added =
      group_.Add([this, upload = std::move(upload)](const Context& ctx) {
        auto result = upload(ctx);
        base::MutexLock lock(mutex_);
        --under_way_;
        ++ends_;
        ended_.NotifyAll();
        return result;
      });
  if (!added) {
    base::MutexLock lock(mutex_);
    --under_way_;
  }
  return added;
}

Result<void> Uploader::StoreBatch(const Context& ctx, Batch& batch) {
  std::vector<Digest> digests;
  digests.reserve(batch.blobs.size());
  for (const Blob& blob : batch.blobs) digests.push_back(blob.digest());
  ASSIGN_OR_RETURN(const std::vector<Digest> missing,
                   store_.FindMissing(ctx, digests));
  ASSIGN_OR_RETURN(const std::vector<Blob> blobs,
                   TakeMembers(batch.blobs, missing));
  int64_t bytes = 0;
  for (const Blob& blob : blobs) bytes += blob.digest().size();
  if (!options_.dry_run) {
    for (const Result<void>& each : store_.PutMany(ctx, blobs)) {
      RETURN_IF_ERROR(each);
    }
  }
  Count(static_cast<int64_t>(blobs.size()), bytes);
  return {};
}

Result<void> Uploader::StoreLarge(const Context& ctx,
                                  const tree::LargeFile& large) {
  ASSIGN_OR_RETURN(const std::vector<Digest> missing,
                   store_.FindMissing(ctx, std::span(&large.digest, 1)));
  Settled settled{.token = large.token};
  if (!missing.empty()) {
    const WatchedSource source(*large.source);
    Result<void> stored;
    if (!options_.dry_run) stored = store_.Put(ctx, large.digest, source);
    if (stored) {
      Count(1, large.digest.size());
    } else if (source.error() &&
               source.error()->code != Code::kFailedPrecondition) {
      settled.end = Settled::End::kFailed;
      settled.error = *source.error();
    } else if (source.error() || stored.error().code == Code::kDataLoss) {
      settled.end = Settled::End::kChanged;
    } else {
      return Wrap(stored.error(), "store " + large.path);
    }
  }
  base::MutexLock lock(mutex_);
  settled_.push_back(std::move(settled));
  return {};
}

void Uploader::Count(int64_t blobs, int64_t bytes) {
  if (feed_) feed_->AddTransferred(bytes);
  base::MutexLock lock(mutex_);
  totals_.blobs += blobs;
  totals_.bytes += bytes;
}

std::vector<Settled> Uploader::TakeSettled() {
  base::MutexLock lock(mutex_);
  return std::exchange(settled_, {});
}

Result<bool> Uploader::WaitForProgress() {
  RETURN_IF_ERROR(Flush());
  const Context& ctx = group_.context();
  base::WakeOnStop wake(ctx, mutex_, ended_);
  base::MutexLock lock(mutex_);
  while (ends_ == ends_seen_ && under_way_ > 0) {
    RETURN_IF_ERROR(ctx.Check());
    ended_.WaitUntil(mutex_, ctx.deadline);
  }
  RETURN_IF_ERROR(ctx.Check());
  return std::exchange(ends_seen_, ends_) != ends_;
}

Result<void> Uploader::Finish() {
  auto flushed = Flush();
  // The group's own error is the first one; Flush merely met it.
  RETURN_IF_ERROR(group_.Wait());
  return flushed;
}

Uploader::Totals Uploader::totals() const {
  base::MutexLock lock(mutex_);
  return totals_;
}

}  // namespace casemate::transfer
