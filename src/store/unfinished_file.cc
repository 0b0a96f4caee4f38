#include "store/unfinished_file.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/try.h"
#include "codec/zstd.h"
#include "store/disk_layout.h"

namespace casemate::store {
namespace {

constexpr int64_t kBufferBytes = 128 << 10;

// A large file is synced as it is written: syncfs waits for all that is dirty,
// and should not wait long.
constexpr int64_t kSyncBytes = 64 << 20;

// Frames that do not save enough by then are given up, so that little is
// written twice. A decoder may have a block of them at hand that is not yet
// counted as decoded.
constexpr int64_t kJudgeAt = 4 << 20;
constexpr int64_t kAtHand = 128 << 10;

}  // namespace

Result<void> ForeignFile::DecodeInto(const Context& ctx, int64_t size,
                                     OwnFile& own) const {
  codec::Decoder decoder(size);
  std::vector<std::byte> input(kBufferBytes), output(kBufferBytes);
  std::span<const std::byte> pending;
  int64_t position = 0;
  while (size > 0) {
    RETURN_IF_ERROR(ctx.Check());
    ASSIGN_OR_RETURN(const codec::Step step, decoder.Decode(pending, output));
    pending = pending.subspan(step.consumed);
    size -= static_cast<int64_t>(step.produced);
    RETURN_IF_ERROR(own.Append(std::span(output).first(step.produced)));
    if (step.produced > 0 || step.consumed > 0) continue;
    ASSIGN_OR_RETURN(const size_t got, file_.file().ReadAt(position, input));
    if (got == 0) {
      return Error{Code::kInternal, "an unfinished file was cut short"};
    }
    position += static_cast<int64_t>(got);
    pending = std::span(input).first(got);
  }
  return {};
}

bool UnfinishedFile::KeepsFrames() const {
  if (own_) return false;
  return maker_.at_rest.form == Encoding::kZstd && digest_.size() > kDiskBlock;
}

Result<void> UnfinishedFile::Append(const Context&,
                                    std::span<const std::byte> data) {
  if (broken_)
    return WriteError({Code::kInternal, "it could not be set aside"});
  if (!own_) {
    own_.emplace(MakeOwn(*std::move(empty_), maker_.at_rest));
    empty_.reset();
  }
  auto written = own_->Append(data);
  if (written) written = SyncNowAndThen();
  return written ? written : WriteError(written.error());
}

Result<void> UnfinishedFile::AppendFrames(const Context&,
                                          std::span<const std::byte> frames,
                                          int64_t decoded, bool whole) {
  if (!foreign_) {
    foreign_.emplace(*std::move(empty_));
    empty_.reset();
  }
  auto written = foreign_->Append(frames);
  if (written) written = SyncNowAndThen();
  if (!written) return WriteError(written.error());
  decoded_ = decoded;
  whole_ = whole;
  if (judged_ || decoded < kJudgeAt) return {};
  judged_ = true;
  if (Saves(decoded, foreign_->size() - kAtHand)) return {};
  return Decode({}, {Encoding::kIdentity});
}

// A failure shows when it is written to again.
void UnfinishedFile::Rest() {
  if (own_ && !own_->Rest()) broken_ = true;
}

Result<void> UnfinishedFile::Resume(const Context& ctx, Encoding encoding) {
  if (!foreign_ || (encoding == Encoding::kZstd && whole_)) return {};
  return Decode(ctx, maker_.at_rest);
}

Result<void> UnfinishedFile::Publish(const Context& ctx) {
  if (foreign_ && !Saves(digest_.size(), foreign_->size())) {
    RETURN_IF_ERROR(Decode(ctx, {Encoding::kIdentity}));
  }
  if (own_) {
    if (auto done = own_->Finish(); !done) return WriteError(done.error());
  }
  Finished blob = {digest_, std::move(file()),
                   own_ ? own_->form() : Encoding::kZstd};
  if (auto closed = blob.Close(); !closed) return WriteError(closed.error());
  maker_.publisher.Publish(ctx, std::span(&blob, 1));
  return std::move(blob.result);
}

OwnFile UnfinishedFile::MakeOwn(TempFile file, AtRest at_rest) {
  return OwnFile(std::move(file), digest_.size(), at_rest, maker_.held);
}

// Stopped halfway, it leaves the frames as they are.
Result<void> UnfinishedFile::Decode(const Context& ctx, AtRest at_rest) {
  ASSIGN_OR_RETURN(TempFile file, maker_.create());
  OwnFile own = MakeOwn(std::move(file), at_rest);
  auto decoded = foreign_->DecodeInto(ctx, decoded_, own);
  if (!decoded && !ctx.Check()) return decoded;
  if (!decoded) return WriteError(decoded.error());
  own_.emplace(std::move(own));
  foreign_.reset();
  synced_ = 0;
  return {};
}

Result<void> UnfinishedFile::SyncNowAndThen() {
  if (!maker_.durable || file().file().size() - synced_ < kSyncBytes) return {};
  synced_ = file().file().size();
  return file().file().Sync();
}

TempFile& UnfinishedFile::file() {
  if (own_) return own_->file();
  return foreign_ ? foreign_->file() : *empty_;
}

}  // namespace casemate::store
