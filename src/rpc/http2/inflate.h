// Inflater: one compressed message, expanded as it comes.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "casemate/result.h"
#include "rpc/message.h"

namespace casemate::rpc::http2 {

// How the messages of a call are compressed: grpc-encoding.
enum class Coding { kIdentity, kGzip, kDeflate };

// Expands one message in bounded memory: it stops hard at `limit` bytes, and
// holds no more than what it has given out.
class Inflater {
 public:
  Inflater(Coding coding, int64_t limit);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // The next compressed bytes. kResourceExhausted beyond the limit, kInternal
  // for what is not compressed, or goes on after its end.
  Result<void> Add(std::string_view bytes);

  // The whole message; kInternal if it is cut short.
  Result<Message> Finish();

 private:
  Result<void> Step();
  void KeepPiece();

  const int64_t limit_;
  z_stream stream_{};
  bool ended_ = false;
  int64_t size_ = 0;
  std::shared_ptr<std::byte[]> piece_;
  size_t piece_size_ = 0;
  Message message_;
};

}  // namespace casemate::rpc::http2
