#include "store/stored_readers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/try.h"

namespace casemate::store {
namespace {

constexpr int64_t kInputBytes = 128 << 10;

size_t AtMost(int64_t left, size_t wanted) {
  return static_cast<size_t>(
      std::min<uint64_t>(static_cast<uint64_t>(left), wanted));
}

// Looks at all bytes of a file as they pass.
class PassingCheck {
 public:
  virtual ~PassingCheck() = default;
  virtual Result<void> Update(std::span<const std::byte> data) = 0;

  // After the last byte: how far the file may be believed. kDataLoss for one
  // that is damaged.
  virtual Result<Trusted> Finish() = 0;
};

class HashCheck : public PassingCheck {
 public:
  explicit HashCheck(const Digest& digest)
      : digest_(digest), hasher_(digest.function()) {}

  Result<void> Update(std::span<const std::byte> data) override {
    hasher_.Update(data);
    return {};
  }

  Result<Trusted> Finish() override {
    const Digest actual = hasher_.Finish();
    if (actual != digest_) return digest::Mismatch(digest_, actual);
    return Trusted::kIdentity;
  }

 private:
  const Digest digest_;
  digest::Hasher hasher_;
};

class PassingFrameCheck : public PassingCheck {
 public:
  PassingFrameCheck(const StoredFile& stored, std::optional<BlockTable> table)
      : check_(stored.digest, std::move(table), stored.file) {}

  Result<void> Update(std::span<const std::byte> data) override {
    return check_.Pass(data);
  }
  Result<Trusted> Finish() override { return check_.Finish(); }

 private:
  FrameCheck check_;
};

std::unique_ptr<PassingCheck> MakeCheck(const StoredFile& stored,
                                        std::optional<Unchecked> unchecked) {
  if (!unchecked) return nullptr;
  if (stored.form == Encoding::kIdentity) {
    return std::make_unique<HashCheck>(stored.digest);
  }
  return std::make_unique<PassingFrameCheck>(stored,
                                             std::move(unchecked->table));
}

class StoredReader : public Reader {
 public:
  StoredReader(BlobFiles& files, StoredFile stored, int64_t position,
               int64_t end, std::optional<Unchecked> unchecked)
      : files_(files),
        stored_(std::move(stored)),
        position_(position),
        end_(end),
        check_(MakeCheck(stored_, std::move(unchecked))) {}

  Result<size_t> Read(const Context& ctx,
                      std::span<std::byte> buffer) override {
    RETURN_IF_ERROR(ctx.Check());
    buffer = buffer.first(AtMost(end_ - position_, buffer.size()));
    if (buffer.empty()) return size_t{0};
    ASSIGN_OR_RETURN(const size_t got, stored_.file.ReadAt(position_, buffer));
    if (got == 0) return files_.Shrunk(stored_);
    position_ += static_cast<int64_t>(got);
    if (check_) RETURN_IF_ERROR(Check(buffer.first(got)));
    return got;
  }

  Result<Bytes> Next(const Context& ctx, size_t max_bytes) override {
    const size_t size = AtMost(end_ - position_, max_bytes);
    if (size == 0) return Bytes();
    return Reader::Next(ctx, size);
  }

  std::optional<Result<Bytes>> TryNext(size_t max_bytes) override {
    if (check_) return std::nullopt;
    const size_t size = AtMost(end_ - position_, max_bytes);
    if (size == 0) return Bytes();
    auto owner = std::make_shared_for_overwrite<std::byte[]>(size);
    const std::span<std::byte> buffer(owner.get(), size);
    const auto got = files_.ReadNow(stored_.file, position_, buffer);
    if (!got) return std::nullopt;
    position_ += static_cast<int64_t>(*got);
    return Bytes::Share(std::move(owner), buffer.first(*got));
  }

  Encoding encoding() const override { return stored_.form; }

 private:
  Result<void> Check(std::span<const std::byte> data) {
    if (auto passed = check_->Update(data); !passed) {
      return files_.Conclude(stored_, passed.error());
    }
    if (position_ < end_) return {};
    return files_.Conclude(stored_, check_->Finish());
  }

  BlobFiles& files_;
  const StoredFile stored_;
  int64_t position_;
  const int64_t end_;
  const std::unique_ptr<PassingCheck> check_;
};

class HeadedReader : public Reader {
 public:
  HeadedReader(Bytes head, std::unique_ptr<Reader> rest)
      : head_(std::move(head)), rest_(std::move(rest)) {}

  Result<size_t> Read(const Context& ctx,
                      std::span<std::byte> buffer) override {
    if (head_.empty()) return rest_->Read(ctx, buffer);
    RETURN_IF_ERROR(ctx.Check());
    const Bytes taken = Take(buffer.size());
    std::ranges::copy(taken.span(), buffer.begin());
    return taken.size();
  }

  Result<Bytes> Next(const Context& ctx, size_t max_bytes) override {
    if (head_.empty()) return rest_->Next(ctx, max_bytes);
    RETURN_IF_ERROR(ctx.Check());
    return Take(max_bytes);
  }

  std::optional<Result<Bytes>> TryNext(size_t max_bytes) override {
    if (head_.empty()) return rest_->TryNext(max_bytes);
    return Take(max_bytes);
  }

  Encoding encoding() const override { return Encoding::kZstd; }

 private:
  Bytes Take(size_t max_bytes) {
    Bytes taken = head_.Slice(0, max_bytes);
    head_ = taken.size() < head_.size() ? head_.Slice(taken.size()) : Bytes();
    return taken;
  }

  Bytes head_;  // What is left of it.
  const std::unique_ptr<Reader> rest_;
};

class DecodedReader : public Reader {
 public:
  DecodedReader(BlobFiles& files, StoredFile stored, const FrameRange& range,
                std::optional<Unchecked> unchecked)
      : files_(files),
        stored_(std::move(stored)),
        range_(range),
        input_(AtMost(range.end - range.position, kInputBytes)) {
    if (unchecked) {
      check_.emplace(stored_.digest, std::move(unchecked->table), stored_.file);
    } else {
      decoder_.emplace(range.skip + range.size);
    }
  }

  Result<size_t> Read(const Context& ctx,
                      std::span<std::byte> buffer) override {
    while (range_.skip > 0) {
      skipped_.resize(AtMost(range_.skip, kInputBytes));
      ASSIGN_OR_RETURN(const size_t got, Decode(ctx, skipped_));
      if (got == 0) return Short();
      range_.skip -= static_cast<int64_t>(got);
    }
    buffer = buffer.first(AtMost(range_.size, buffer.size()));
    if (buffer.empty()) return size_t{0};
    ASSIGN_OR_RETURN(const size_t got, Decode(ctx, buffer));
    if (got == 0) return Short();
    range_.size -= static_cast<int64_t>(got);
    if (check_ && range_.size == 0) RETURN_IF_ERROR(Conclude(ctx));
    return got;
  }

  Result<Bytes> Next(const Context& ctx, size_t max_bytes) override {
    const size_t size = AtMost(range_.size, max_bytes);
    if (size == 0) return Bytes();
    return Reader::Next(ctx, size);
  }

 private:
  // At least a byte, except at the end of the file.
  Result<size_t> Decode(const Context& ctx, std::span<std::byte> output) {
    RETURN_IF_ERROR(ctx.Check());
    while (true) {
      const auto step = check_ ? check_->Decode(pending_, output)
                               : decoder_->Decode(pending_, output);
      if (!step) return files_.Conclude(stored_, step.error()).error();
      pending_ = pending_.subspan(step->consumed);
      if (step->produced > 0) return step->produced;
      if (step->consumed > 0) continue;
      ASSIGN_OR_RETURN(const bool filled, Fill());
      if (!filled) return size_t{0};
    }
  }

  Result<bool> Fill() {
    const auto room = std::span(input_).first(
        AtMost(range_.end - range_.position, input_.size()));
    if (room.empty()) return false;
    ASSIGN_OR_RETURN(const size_t got,
                     stored_.file.ReadAt(range_.position, room));
    if (got == 0) return files_.Shrunk(stored_);
    range_.position += static_cast<int64_t>(got);
    pending_ = room.first(got);
    return true;
  }

  // What may follow the last byte: the frame's end, empty and skippable frames.
  Result<void> Conclude(const Context& ctx) {
    std::byte excess[1];
    ASSIGN_OR_RETURN(const size_t got, Decode(ctx, excess));
    if (got > 0) return Short();
    return files_.Conclude(stored_, check_->Finish());
  }

  Error Short() const {
    return files_.Damaged(
        stored_, {Code::kDataLoss, "its frames do not hold what they should"});
  }

  BlobFiles& files_;
  const StoredFile stored_;
  FrameRange range_;  // What is left of it.
  std::optional<FrameCheck> check_;
  std::optional<codec::Decoder> decoder_;  // One of the two.
  std::vector<std::byte> input_;
  std::span<const std::byte> pending_;  // Of input_, not yet decoded.
  std::vector<std::byte> skipped_;
};

}  // namespace

std::unique_ptr<Reader> MakeStoredReader(BlobFiles& files, StoredFile stored,
                                         int64_t position, int64_t end,
                                         std::optional<Unchecked> unchecked) {
  return std::make_unique<StoredReader>(files, std::move(stored), position, end,
                                        std::move(unchecked));
}

std::unique_ptr<Reader> MakeHeadedReader(Bytes head,
                                         std::unique_ptr<Reader> rest) {
  return std::make_unique<HeadedReader>(std::move(head), std::move(rest));
}

std::unique_ptr<Reader> MakeDecodedReader(BlobFiles& files, StoredFile stored,
                                          const FrameRange& range,
                                          std::optional<Unchecked> unchecked) {
  return std::make_unique<DecodedReader>(files, std::move(stored), range,
                                         std::move(unchecked));
}

}  // namespace casemate::store
