#include "rpc/grpc/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <string>
#include <utility>

namespace casemate::rpc {
namespace {

constexpr size_t kBlock = 64 << 10;

class Inflater {
 public:
  Inflater(Compression compression, int64_t limit) : limit_(limit) {
    // 15 is the largest window; 16 more mean gzip's header.
    const int bits = compression == Compression::kGzip ? 15 + 16 : 15;
    ok_ = inflateInit2(&stream_, bits) == Z_OK;
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Result<void> Add(const Bytes& piece) {
    stream_.next_in = reinterpret_cast<Bytef*>(
        const_cast<std::byte*>(piece.data()));  // It only reads.
    stream_.avail_in = static_cast<uInt>(piece.size());
    while (ok_ && !done_ && (stream_.avail_in > 0 || filled_ == kBlock)) {
      if (auto ok = Step(); !ok) return ok;
    }
    return ok_ ? Result<void>() : Broken();
  }

  Result<Message> Finish() {
    if (!done_) return Broken();
    Flush();
    return std::move(message_);
  }

 private:
  static Error Broken() {
    return {Code::kInternal, "a compressed message is broken"};
  }

  Result<void> Step() {
    if (filled_ == kBlock) Flush();
    block_.resize(kBlock);
    stream_.next_out = reinterpret_cast<Bytef*>(block_.data() + filled_);
    stream_.avail_out = static_cast<uInt>(kBlock - filled_);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    filled_ = kBlock - stream_.avail_out;
    done_ = result == Z_STREAM_END;
    // Nothing to do is no error: the block was full just when all was out.
    ok_ = done_ || result == Z_OK || result == Z_BUF_ERROR;
    if (static_cast<int64_t>(message_.size() + filled_) > limit_) {
      return Error{Code::kResourceExhausted,
                   "a compressed message holds more than " +
                       std::to_string(limit_) + " bytes"};
    }
    return {};
  }

  void Flush() {
    block_.resize(std::exchange(filled_, 0));
    block_.shrink_to_fit();
    message_.Append(Bytes::FromString(std::exchange(block_, {})));
  }

  const int64_t limit_;
  z_stream stream_{};
  bool ok_ = false;
  bool done_ = false;
  std::string block_;
  size_t filled_ = 0;
  Message message_;
};

}  // namespace

Result<Message> Inflate(const Message& message, Compression compression,
                        int64_t limit) {
  Inflater inflater(compression, limit);
  for (const Bytes& piece : message.pieces()) {
    if (auto ok = inflater.Add(piece); !ok) return std::move(ok).error();
  }
  return inflater.Finish();
}

}  // namespace casemate::rpc
