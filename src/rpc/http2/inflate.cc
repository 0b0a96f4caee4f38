#include "rpc/http2/inflate.h"

#include <algorithm>

#include "base/check.h"
#include "base/try.h"

namespace casemate::rpc::http2 {
namespace {

constexpr size_t kFirstPiece = size_t{4} << 10;
constexpr size_t kLargestPiece = size_t{1} << 20;

}  // namespace

Inflater::Inflater(Coding coding, int64_t limit) : limit_(limit) {
  const int window = coding == Coding::kGzip ? 15 + 16 : 15;
  CASEMATE_CHECK(inflateInit2(&stream_, window) == Z_OK);
}

Inflater::~Inflater() { inflateEnd(&stream_); }

Result<void> Inflater::Add(std::string_view bytes) {
  stream_.next_in = reinterpret_cast<Bytef*>(
      const_cast<char*>(bytes.data()));  // Not written.
  stream_.avail_in = static_cast<uInt>(bytes.size());
  // Full output may mean that there is more of it.
  while (stream_.avail_in > 0 || (stream_.avail_out == 0 && piece_)) {
    if (ended_) {
      if (stream_.avail_in == 0) break;
      return Error{Code::kInternal,
                   "bytes after the end of a compressed message"};
    }
    const uInt before = stream_.avail_in;
    const int64_t had = size_;
    RETURN_IF_ERROR(Step());
    if (stream_.avail_in == before && size_ == had) break;  // Wants more input.
  }
  return {};
}

Result<void> Inflater::Step() {
  if (stream_.avail_out == 0) {
    KeepPiece();
    piece_size_ = std::clamp(2 * piece_size_, kFirstPiece, kLargestPiece);
    piece_ = std::make_shared_for_overwrite<std::byte[]>(piece_size_);
    stream_.next_out = reinterpret_cast<Bytef*>(piece_.get());
    stream_.avail_out = static_cast<uInt>(piece_size_);
  }
  const uInt room = stream_.avail_out;
  const int code = inflate(&stream_, Z_NO_FLUSH);
  size_ += room - stream_.avail_out;
  if (size_ > limit_) {
    return Error{Code::kResourceExhausted,
                 "a compressed message expands to more than " +
                     std::to_string(limit_) + " bytes"};
  }
  if (code == Z_STREAM_END) ended_ = true;
  if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) return {};
  return Error{Code::kInternal, "a compressed message is damaged"};
}

void Inflater::KeepPiece() {
  if (!piece_) return;
  const size_t used = piece_size_ - stream_.avail_out;
  message_.Append(Bytes::Share(piece_, {piece_.get(), used}));
  piece_.reset();
}

Result<Message> Inflater::Finish() {
  if (!ended_) {
    return Error{Code::kInternal, "a compressed message is cut short"};
  }
  KeepPiece();
  return std::move(message_);
}

}  // namespace casemate::rpc::http2
