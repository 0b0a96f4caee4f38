#include "store/own_file.h"

#include <algorithm>
#include <memory>

#include "base/try.h"
#include "codec/zstd.h"
#include "store/disk_layout.h"

namespace casemate::store {
namespace {

// Of all files together. Beyond, the beginnings of blocks wait in their files.
constexpr int64_t kMostHeld = 32 << 20;

Encoding FormOf(int64_t size, const AtRest& at_rest) {
  return size > kDiskBlock ? at_rest.form : Encoding::kIdentity;
}

}  // namespace

OwnFile::OwnFile(TempFile file, int64_t size, AtRest at_rest,
                 std::atomic<int64_t>& held)
    : file_(std::move(file)),
      size_(size),
      left_(size),
      at_rest_(at_rest),
      in_blocks_(FormOf(size, at_rest) == Encoding::kZstd),
      held_(held) {}

Result<void> OwnFile::Append(std::span<const std::byte> data) {
  if (!in_blocks_) return file_.file().WriteSparse(data);
  if (static_cast<int64_t>(data.size()) > left_) {
    return Error{Code::kInternal, "there are more bytes than announced"};
  }
  const bool completes =
      pending_.size() + resting_ + data.size() >= BlockSize();
  if (held_.sum() > kMostHeld && !completes) return AppendResting(data);
  RETURN_IF_ERROR(Wake());
  RETURN_IF_ERROR(AppendBlocks(data));
  held_.Set(static_cast<int64_t>(pending_.size()));
  return {};
}

Result<void> OwnFile::AppendResting(std::span<const std::byte> data) {
  RETURN_IF_ERROR(Rest());
  RETURN_IF_ERROR(file_.file().Write(data));
  resting_ += data.size();
  return {};
}

Result<void> OwnFile::AppendBlocks(std::span<const std::byte> data) {
  while (in_blocks_ && !data.empty()) {
    const size_t size = BlockSize();
    const auto taken =
        data.first(std::min(data.size(), size - pending_.size()));
    data = data.subspan(taken.size());
    if (taken.size() == size) {  // A whole one needs no copy.
      RETURN_IF_ERROR(WriteBlock(taken));
      continue;
    }
    pending_.insert(pending_.end(), taken.begin(), taken.end());
    if (pending_.size() < size) break;
    RETURN_IF_ERROR(WriteBlock(pending_));
    pending_.clear();
  }
  // A blob whose last bytes have come, or that is not kept in blocks after all.
  if (left_ == 0 || !in_blocks_) pending_ = {};
  return file_.file().WriteSparse(in_blocks_ ? data.first(0) : data);
}

Result<void> OwnFile::WriteBlock(std::span<const std::byte> block) {
  const size_t bound = codec::EncodedBound(block.size());
  const auto owner = std::make_unique_for_overwrite<std::byte[]>(bound);
  const std::span<std::byte> output(owner.get(), bound);
  ASSIGN_OR_RETURN(const size_t size,
                   codec::EncodeFrame(block, output, at_rest_.level));
  left_ -= static_cast<int64_t>(block.size());
  if (frames_.empty() &&
      !Saves(static_cast<int64_t>(block.size()), static_cast<int64_t>(size))) {
    in_blocks_ = false;
    return file_.file().WriteSparse(block);
  }
  frames_.push_back(static_cast<uint32_t>(size));
  return file_.file().Write(output.first(size));
}

Result<void> OwnFile::Rest() {
  if (pending_.empty()) return {};
  RETURN_IF_ERROR(file_.file().Write(pending_));
  resting_ = pending_.size();
  pending_ = {};
  held_.Set(0);
  return {};
}

Result<void> OwnFile::Wake() {
  if (resting_ == 0) return {};
  files::OutputFile& file = file_.file();
  pending_.resize(std::exchange(resting_, 0));
  const int64_t begin = file.size() - static_cast<int64_t>(pending_.size());
  ASSIGN_OR_RETURN(const size_t got, file.ReadAt(begin, pending_));
  if (got < pending_.size()) {
    return Error{Code::kInternal, "an unfinished file was cut short"};
  }
  return file.CutTo(begin);
}

Result<void> OwnFile::Finish() {
  if (!in_blocks_) return file_.file().FinishSparse();
  if (left_ > 0) {
    return Error{Code::kInternal, "there are fewer bytes than announced"};
  }
  if (frames_.size() < 2) return {};
  return file_.file().Write(MakeBlockTable(frames_, size_));
}

size_t OwnFile::BlockSize() const {
  return static_cast<size_t>(std::min(left_, kBlockBytes));
}

}  // namespace casemate::store
