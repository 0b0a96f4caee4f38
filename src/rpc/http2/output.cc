#include "rpc/http2/output.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace casemate::rpc::http2 {

void Output::Add(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t part = std::min(bytes.size(), kBlock);
    char* const place = Reserve(part);
    std::memcpy(place, bytes.data(), part);
    AddPiece(place, part);
    bytes.remove_prefix(part);
  }
}

void Output::Add(Bytes bytes) {
  if (bytes.size() <= kCopied) return Add(bytes.view());
  AddPiece(bytes.data(), bytes.size());
  owners_.push_back(std::move(bytes));
}

std::span<const iovec> Output::pieces() const {
  const auto rest = std::span(pieces_).subspan(first_);
  return rest.first(std::min(rest.size(), kMostPieces));
}

void Output::Drop(size_t count) {
  CASEMATE_CHECK(count <= size_);
  size_ -= count;
  if (size_ == 0) return Clear();
  while (count >= pieces_[first_].iov_len) count -= pieces_[first_++].iov_len;
  iovec& piece = pieces_[first_];
  piece.iov_base = static_cast<char*>(piece.iov_base) + count;
  piece.iov_len -= count;
}

void Output::Clear() {
  pieces_.clear();
  owners_.clear();
  first_ = size_ = 0;
  if (blocks_.size() > 1) blocks_.resize(1);
  in_block_ = blocks_.empty() ? kBlock : 0;
}

char* Output::Reserve(size_t count) {
  if (in_block_ + count > kBlock) {
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(kBlock));
    in_block_ = 0;
  }
  char* const place = blocks_.back().get() + in_block_;
  in_block_ += count;
  return place;
}

// Neighbours become one piece.
void Output::AddPiece(const void* data, size_t count) {
  size_ += count;
  if (pieces_.size() > first_) {
    iovec& last = pieces_.back();
    if (static_cast<char*>(last.iov_base) + last.iov_len == data) {
      last.iov_len += count;
      return;
    }
  }
  pieces_.push_back({const_cast<void*>(data), count});  // For writev's sake.
}

}  // namespace casemate::rpc::http2
