#include "store/block_table.h"

#include <algorithm>
#include <array>

#include "base/try.h"
#include "store/disk_layout.h"

namespace casemate::store {
namespace {

constexpr uint32_t kSkippableMagic = 0x184D2A5E;
constexpr uint32_t kSeekableMagic = 0x8F92EAB1;
constexpr int64_t kHeaderBytes = 8;
constexpr int64_t kEntryBytes = 8;
constexpr int64_t kFooterBytes = 9;
constexpr size_t kBufferedEntries = 512;

// 128 TiB of blob; also what keeps the numbers below from overflowing.
constexpr int64_t kMostBlocks = 1 << 27;

void Append(std::vector<std::byte>& to, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) {
    to.push_back(static_cast<std::byte>(value >> shift));
  }
}

uint32_t Load(std::span<const std::byte> from) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) {
    value = value << 8 | std::to_integer<uint32_t>(from[i]);
  }
  return value;
}

uint32_t BlockSize(int64_t size, int64_t index) {
  return static_cast<uint32_t>(
      std::min(kBlockBytes, size - index * kBlockBytes));
}

}  // namespace

int64_t BlockTableBytes(int64_t blocks) {
  return kHeaderBytes + blocks * kEntryBytes + kFooterBytes;
}

bool Saves(int64_t size, int64_t encoded) {
  const auto disk = [](int64_t bytes) {
    return bytes / kDiskBlock + (bytes % kDiskBlock > 0 ? 1 : 0);
  };
  return encoded <= size - size / 20 && disk(encoded) < disk(size);
}

std::vector<std::byte> MakeBlockTable(std::span<const uint32_t> frames,
                                      int64_t size) {
  const auto count = static_cast<int64_t>(frames.size());
  std::vector<std::byte> table;
  table.reserve(static_cast<size_t>(BlockTableBytes(count)));
  Append(table, kSkippableMagic);
  Append(table, static_cast<uint32_t>(BlockTableBytes(count) - kHeaderBytes));
  for (int64_t i = 0; i < count; ++i) {
    Append(table, frames[static_cast<size_t>(i)]);
    Append(table, BlockSize(size, i));
  }
  Append(table, static_cast<uint32_t>(count));
  table.push_back(std::byte{0});
  Append(table, kSeekableMagic);
  return table;
}

Result<std::optional<BlockTable>> BlockTable::Find(const files::File& file,
                                                   int64_t size) {
  const std::optional<BlockTable> none;
  if (size <= kBlockBytes || size > kMostBlocks * kBlockBytes) return none;
  const int64_t blocks = BlockCount(size);
  const int64_t begin = file.stat().size - BlockTableBytes(blocks);
  if (begin <= 0) return none;
  std::array<std::byte, kHeaderBytes> header;
  std::array<std::byte, kFooterBytes> footer;
  ASSIGN_OR_RETURN(const size_t head, file.ReadAt(begin, header));
  ASSIGN_OR_RETURN(const size_t foot,
                   file.ReadAt(file.stat().size - kFooterBytes, footer));
  const bool whole = head == header.size() && foot == footer.size();
  const std::span<const std::byte> h(header), f(footer);
  if (!whole || Load(h) != kSkippableMagic ||
      Load(h.subspan(4)) != BlockTableBytes(blocks) - kHeaderBytes ||
      Load(f) != blocks || f[4] != std::byte{0} ||
      Load(f.subspan(5)) != kSeekableMagic) {
    return none;
  }
  return std::optional(BlockTable(file, size, begin));
}

Result<int64_t> BlockTable::Next() {
  const int64_t left = BlockCount(size_) - next_;
  if (left == 0) return 0;
  if (used_ == buffer_.size()) {
    const auto count = static_cast<size_t>(
        std::min(left, static_cast<int64_t>(kBufferedEntries)));
    buffer_.resize(count * kEntryBytes);
    used_ = 0;
    const int64_t at = begin_ + kHeaderBytes + next_ * kEntryBytes;
    ASSIGN_OR_RETURN(const size_t got, file_->ReadAt(at, buffer_));
    if (got < buffer_.size()) return 0;
  }
  const auto entry = std::span<const std::byte>(buffer_).subspan(used_);
  used_ += kEntryBytes;
  if (Load(entry.subspan(4)) != BlockSize(size_, next_++)) return 0;
  return int64_t{Load(entry)};
}

Result<int64_t> BlockTable::Position(int64_t index) {
  int64_t position = 0;
  for (int64_t i = 0; i < index; ++i) {
    ASSIGN_OR_RETURN(const int64_t frame, Next());
    position += frame;
    if (frame == 0 || position >= begin_) {
      return Error{Code::kDataLoss, "its table is damaged"};
    }
  }
  return position;
}

}  // namespace casemate::store
