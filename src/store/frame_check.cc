#include "store/frame_check.h"

#include <algorithm>

#include "base/try.h"

namespace casemate::store {
namespace {

constexpr int64_t kScratchBytes = 128 << 10;

}  // namespace

Result<codec::Step> FrameCheck::Decode(std::span<const std::byte> input,
                                       std::span<std::byte> output) {
  ASSIGN_OR_RETURN(const codec::Step step, decoder_.Decode(input, output));
  hasher_.Update(output.first(step.produced));
  consumed_ += static_cast<int64_t>(step.consumed);
  const bool moved = step.consumed > 0 || step.produced > 0;
  if (moved && decoder_.at_border()) RETURN_IF_ERROR(EndFrame());
  return step;
}

Result<void> FrameCheck::Pass(std::span<const std::byte> input) {
  if (scratch_.empty()) {
    scratch_.resize(static_cast<size_t>(
        std::clamp<int64_t>(digest_.size(), 1, kScratchBytes)));
  }
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(const codec::Step step, Decode(input, scratch_));
    input = input.subspan(step.consumed);
    more = !input.empty() || step.produced == scratch_.size();
  }
  return {};
}

Result<Trusted> FrameCheck::Finish() {
  if (!decoder_.at_border() || hasher_.size() < digest_.size()) {
    return Error{Code::kDataLoss,
                 "blob " + digest_.ToString() + " is kept as zstd, cut short"};
  }
  const Digest actual = hasher_.Finish();
  if (actual != digest_) return digest::Mismatch(digest_, actual);
  const bool in_blocks = table_ && consumed_ == table_->begin() &&
                         frames_ == BlockCount(digest_.size());
  return in_blocks ? Trusted::kBlocks : Trusted::kFrames;
}

Result<void> FrameCheck::EndFrame() {
  ++frames_;
  if (table_) {
    ASSIGN_OR_RETURN(const int64_t expected, table_->Next());
    const bool agrees =
        consumed_ - frame_begin_ == expected &&
        hasher_.size() == std::min(frames_ * kBlockBytes, digest_.size());
    if (!agrees) table_.reset();
  }
  frame_begin_ = consumed_;
  return {};
}

}  // namespace casemate::store
