// Blobs kept as zstd, in blocks: see "Blobs kept as zstd" in
// docs/formats/disk-store.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "casemate/result.h"
#include "files/file.h"

namespace casemate::store {

inline constexpr int64_t kBlockBytes = 1 << 20;  // Of the blob, in a frame.

inline int64_t BlockCount(int64_t size) {
  return (size + kBlockBytes - 1) / kBlockBytes;
}

// Whether `size` bytes are worth being kept as `encoded` ones.
bool Saves(int64_t size, int64_t encoded);

// The seek table behind a blob of `size` bytes whose frames have these sizes.
std::vector<std::byte> MakeBlockTable(std::span<const uint32_t> frames,
                                      int64_t size);

int64_t BlockTableBytes(int64_t blocks);  // What it takes.

// Reads such a table, in order. Of what it says only the frame's sizes are
// foreign; whoever believes them must have seen the frames.
class BlockTable {
 public:
  // nullopt unless a table of the right form for a blob of `size` bytes stands
  // at the file's end. `file` must outlive it.
  static Result<std::optional<BlockTable>> Find(const files::File& file,
                                                int64_t size);

  // Goes on with the same file after it was moved.
  void ReadFrom(const files::File& file) { file_ = &file; }

  // Where the frames end and the table begins.
  int64_t begin() const { return begin_; }

  // The next frame's size. 0 at the end, and where an entry is not as it should
  // be, which no frame can have.
  Result<int64_t> Next();

  // Where the frame of block `index` begins, which must exist. kDataLoss if
  // that is not within the frames.
  Result<int64_t> Position(int64_t index);

 private:
  BlockTable(const files::File& file, int64_t size, int64_t begin)
      : file_(&file), size_(size), begin_(begin) {}

  const files::File* file_;
  int64_t size_;
  int64_t begin_;
  int64_t next_ = 0;  // Entry.
  std::vector<std::byte> buffer_;
  size_t used_ = 0;  // Of the buffer.
};

}  // namespace casemate::store
