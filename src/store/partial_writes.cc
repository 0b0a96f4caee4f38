#include "store/partial_writes.h"

#include <algorithm>
#include <optional>

#include "base/try.h"
#include "codec/zstd.h"

namespace casemate::store {
namespace {

constexpr int64_t kDecodedBytes = 128 << 10;  // A block of zstd.

bool IsStopped(Code code) {
  return code == Code::kCancelled || code == Code::kDeadlineExceeded;
}

}  // namespace

class PartialWrites::PartialWriter : public Writer {
 public:
  PartialWriter(PartialWrites& table, Key key, Encoding encoding,
                std::unique_ptr<Progress> progress, bool found)
      : table_(table),
        key_(std::move(key)),
        encoding_(encoding),
        progress_(std::move(progress)),
        found_(found) {}

  ~PartialWriter() override {
    if (progress_ != nullptr) table_.Leave(key_, std::move(progress_));
  }

  int64_t offset() const override {
    return progress_ == nullptr ? 0 : progress_->hasher.size();
  }

  Result<void> Write(const Context& ctx,
                     std::span<const std::byte> data) override {
    RETURN_IF_ERROR(CheckOpen());
    auto taken = Resume(ctx);
    if (taken) {
      taken = encoding_ == Encoding::kZstd ? TakeFrames(ctx, data)
                                           : TakeIdentity(ctx, data);
    }
    if (!taken) Spend(taken.error().code);
    return taken;
  }

  Result<void> Commit(const Context& ctx) override {
    RETURN_IF_ERROR(CheckOpen());
    if (auto resumed = Resume(ctx); !resumed) {
      Spend(resumed.error().code);
      return resumed;
    }
    auto result = Publish(ctx);
    Drop();
    return result;
  }

 private:
  const Digest& digest() const { return key_.second; }
  int64_t left() const { return digest().size() - offset(); }

  Error Failure(Code code, const std::string& why) const {
    return {code, "write blob " + digest().ToString() + ": " + why};
  }

  Result<void> CheckOpen() const {
    if (progress_ != nullptr && !spent_) return {};
    return Failure(Code::kFailedPrecondition,
                   "this writer has failed or was committed before");
  }

  // Only now, because many a writer is found again just to ask for its offset.
  Result<void> Resume(const Context& ctx) {
    RETURN_IF_ERROR(ctx.Check());
    if (!found_) return {};
    RETURN_IF_ERROR(progress_->unfinished->Resume(ctx, encoding_));
    found_ = false;
    return {};
  }

  Result<void> TakeIdentity(const Context& ctx,
                            std::span<const std::byte> data) {
    if (static_cast<int64_t>(data.size()) > left()) return TooLong();
    return Keep(ctx, data);
  }

  Result<void> TakeFrames(const Context& ctx, std::span<const std::byte> data) {
    if (data.empty()) return {};
    if (!decoder_) decoder_.emplace(left());
    const bool as_they_are = progress_->unfinished->KeepsFrames();
    std::span<const std::byte> rest = data;
    auto taken = Decode(ctx, rest, !as_they_are);
    if (as_they_are && (taken || IsStopped(taken.error().code))) {
      const auto frames = data.first(data.size() - rest.size());
      RETURN_IF_ERROR(KeepFrames(ctx, frames));
    }
    // Between frames nothing is held for a peer that may take its time.
    if (taken && decoder_->at_border()) decoder_.reset();
    return taken;
  }

  // All that `data` decodes to is out at the end, so that a writer which is
  // left loses nothing but the beginning of a block.
  Result<void> Decode(const Context& ctx, std::span<const std::byte>& data,
                      bool keep) {
    const auto size =
        static_cast<size_t>(std::clamp<int64_t>(left(), 1, kDecodedBytes));
    const auto owner = std::make_unique_for_overwrite<std::byte[]>(size);
    const std::span<std::byte> buffer(owner.get(), size);
    for (bool more = true; more;) {
      RETURN_IF_ERROR(ctx.Check());
      const auto step = decoder_->Decode(data, buffer);
      if (!step) return NotDecoded(step.error());
      data = data.subspan(step->consumed);
      const auto decoded = buffer.first(step->produced);
      if (keep) {
        RETURN_IF_ERROR(Keep(ctx, decoded));
      } else {
        progress_->hasher.Update(decoded);
      }
      more = !data.empty() || step->produced == buffer.size();
    }
    return {};
  }

  Error TooLong() const {
    return Failure(Code::kOutOfRange, "there are more bytes than that");
  }

  Error NotDecoded(const Error& error) const {
    if (decoder_->exceeded()) return TooLong();
    return Failure(Code::kInvalidArgument, error.message);
  }

  Result<void> Keep(const Context& ctx, std::span<const std::byte> data) {
    if (data.empty()) return {};
    auto kept = progress_->unfinished->Append(ctx, data);
    if (kept) {
      progress_->hasher.Update(data);
    } else {
      Drop();  // Nobody knows how much of `data` arrived.
    }
    return kept;
  }

  Result<void> KeepFrames(const Context& ctx,
                          std::span<const std::byte> frames) {
    auto kept = progress_->unfinished->AppendFrames(ctx, frames, offset(),
                                                    decoder_->at_border());
    if (!kept) Drop();
    return kept;
  }

  Result<void> Publish(const Context& ctx) {
    if (decoder_) {
      return Failure(Code::kInvalidArgument, "its last frame has no end");
    }
    if (left() > 0) {
      return Failure(
          Code::kInvalidArgument,
          "only " + std::to_string(offset()) + " bytes were written");
    }
    const Digest actual = progress_->hasher.Finish();
    if (actual != digest()) return digest::Mismatch(digest(), actual);
    if (digest::IsEmpty(digest())) return {};
    return progress_->unfinished->Publish(ctx);
  }

  // What was only stopped is whole up to offset(), but the rest of the data is
  // lost: it can be found again, not continued here.
  void Spend(Code code) {
    spent_ = true;
    decoder_.reset();
    if (!IsStopped(code)) Drop();
  }

  void Drop() {
    progress_.reset();
    table_.Forget(key_);
  }

  PartialWrites& table_;
  const Key key_;
  const Encoding encoding_;
  std::unique_ptr<Progress> progress_;     // Null after failure or Commit.
  std::optional<codec::Decoder> decoder_;  // Of a frame that is under way.
  bool found_;                             // Again, and not resumed yet.
  bool spent_ = false;
};

Result<std::unique_ptr<Writer>> PartialWrites::Start(const Context& ctx,
                                                     const Digest& digest,
                                                     std::string_view id,
                                                     Encoding encoding,
                                                     const Make& make) {
  RETURN_IF_ERROR(ctx.Check());
  Trim();
  Key key(id, digest);
  ASSIGN_OR_RETURN(auto progress, Claim(key));
  const bool found = progress != nullptr;
  if (!found) {
    auto unfinished = make();
    if (!unfinished) {
      Forget(key);
      return std::move(unfinished).error();
    }
    progress = std::make_unique<Progress>(
        Progress{digest::Hasher(digest.function()), *std::move(unfinished)});
  }
  return std::make_unique<PartialWriter>(*this, std::move(key), encoding,
                                         std::move(progress), found);
}

// What was left under `key`, or null for a new one; the key is then taken.
Result<std::unique_ptr<PartialWrites::Progress>> PartialWrites::Claim(
    const Key& key) {
  if (key.first.empty()) return std::unique_ptr<Progress>();
  base::MutexLock lock(mutex_);
  const auto [entry, added] = keys_.try_emplace(key, left_.end());
  if (added) return std::unique_ptr<Progress>();
  if (entry->second == left_.end()) {
    return Error{Code::kAborted, "write blob " + key.second.ToString() +
                                     ": another writer with id \"" + key.first +
                                     "\" is open"};
  }
  auto progress = Take(entry->second);
  entry->second = left_.end();
  return progress;
}

void PartialWrites::Leave(const Key& key, std::unique_ptr<Progress> progress) {
  if (key.first.empty()) return;
  if (progress->hasher.size() == 0) return Forget(key);
  progress->unfinished->Rest();
  {
    base::MutexLock lock(mutex_);
    left_bytes_ += progress->hasher.size();
    keys_[key] =
        left_.insert(left_.end(), Left{key, std::move(progress), clock_.Now()});
  }
  Trim();
}

void PartialWrites::Forget(const Key& key) {
  if (key.first.empty()) return;
  base::MutexLock lock(mutex_);
  keys_.erase(key);
}

std::unique_ptr<PartialWrites::Progress> PartialWrites::Take(
    LeftList::iterator left) {
  auto progress = std::move(left->progress);
  left_bytes_ -= progress->hasher.size();
  left_.erase(left);
  return progress;
}

std::unique_ptr<PartialWrites::Progress> PartialWrites::TakeExcess() {
  base::MutexLock lock(mutex_);
  if (left_.empty()) return nullptr;
  const bool excess = left_.size() > limits_.count ||
                      left_bytes_ > limits_.bytes ||
                      clock_.Now() - left_.front().since > limits_.age;
  if (!excess) return nullptr;
  keys_.erase(left_.front().key);
  return Take(left_.begin());
}

// Each is removed without the lock, because it may own a file.
void PartialWrites::Trim() {
  while (TakeExcess() != nullptr) {
  }
}

}  // namespace casemate::store
