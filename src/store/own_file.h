// OwnFile: a blob's file as the store writes it from the blob's bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "casemate/io.h"
#include "store/block_table.h"
#include "store/temp_folder.h"

namespace casemate::store {

// How blobs are to be kept.
struct AtRest {
  Encoding form = Encoding::kIdentity;
  int level = 3;
};

// Counts bytes into a sum that others count into as well.
class Counted {
 public:
  explicit Counted(std::atomic<int64_t>& sum) : sum_(&sum) {}
  Counted(Counted&& other) noexcept
      : sum_(other.sum_), mine_(std::exchange(other.mine_, 0)) {}
  Counted& operator=(Counted&&) = delete;
  ~Counted() { Set(0); }

  void Set(int64_t mine) {
    sum_->fetch_add(mine - mine_, std::memory_order_relaxed);
    mine_ = mine;
  }
  int64_t sum() const { return sum_->load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t>* sum_;
  int64_t mine_ = 0;
};

// Writes the bytes as they are, sparse where the blob is; or in blocks of zstd
// where that is wished and the first block saves enough. Holds at most one
// block that is not complete; not even that while many files do so, or after
// Rest, when it waits in the file. One thread.
class OwnFile {
 public:
  // For a blob of `size` bytes. `held` is what all such files hold together.
  OwnFile(TempFile file, int64_t size, AtRest at_rest,
          std::atomic<int64_t>& held);

  Result<void> Append(std::span<const std::byte> data);

  // Holds next to no memory until the next Append.
  Result<void> Rest();

  // After all bytes: completes the file.
  Result<void> Finish();

  TempFile& file() { return file_; }
  Encoding form() const {
    return in_blocks_ ? Encoding::kZstd : Encoding::kIdentity;
  }

 private:
  Result<void> AppendBlocks(std::span<const std::byte> data);
  Result<void> AppendResting(std::span<const std::byte> data);
  Result<void> WriteBlock(std::span<const std::byte> block);
  Result<void> Wake();
  size_t BlockSize() const;  // Of the block that comes next.

  TempFile file_;
  int64_t size_;  // Of the blob.
  int64_t left_;  // Of it, behind the complete blocks.
  AtRest at_rest_;
  bool in_blocks_;
  std::vector<uint32_t> frames_;    // Their sizes.
  std::vector<std::byte> pending_;  // The beginning of a block,
  size_t resting_ = 0;              // or its size, while the file has it.
  Counted held_;
};

}  // namespace casemate::store
