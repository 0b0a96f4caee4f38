// FrameCheck: decodes a blob that is kept as zstd and finds out whether it is
// right.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "casemate/digest.h"
#include "codec/zstd.h"
#include "digest/hasher.h"
#include "store/block_table.h"
#include "store/trust_table.h"

namespace casemate::store {

// All of the frames must pass through it, from the first on. Their content is
// hashed, their borders are compared with the table, if there is one.
class FrameCheck {
 public:
  // `file` is what the table is read from; it must outlive this.
  FrameCheck(const Digest& digest, std::optional<BlockTable> table,
             const files::File& file)
      : digest_(digest),
        decoder_(digest.size()),
        hasher_(digest.function()),
        table_(std::move(table)) {
    if (table_) table_->ReadFrom(file);
  }

  // As codec::Decoder::Decode.
  Result<codec::Step> Decode(std::span<const std::byte> input,
                             std::span<std::byte> output);

  // The same, without the output: all of `input`.
  Result<void> Pass(std::span<const std::byte> input);

  // After all input: how far the file may be believed; kDataLoss if it is not
  // the blob.
  Result<Trusted> Finish();

 private:
  Result<void> EndFrame();

  const Digest digest_;
  codec::Decoder decoder_;
  digest::Hasher hasher_;
  std::optional<BlockTable> table_;  // Until it disagrees.
  int64_t consumed_ = 0;
  int64_t frame_begin_ = 0;
  int64_t frames_ = 0;
  std::vector<std::byte> scratch_;
};

}  // namespace casemate::store
