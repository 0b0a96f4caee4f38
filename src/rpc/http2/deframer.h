// Deframer: the bytes of a stream, cut into messages.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "casemate/result.h"
#include "rpc/http2/inflate.h"
#include "rpc/message.h"

namespace casemate::rpc::http2 {

// A message is a flag, a length of four bytes and that many bytes, wherever the
// wire cuts it. Each is copied once, into a buffer of its known size; beyond
// kAtOnce a buffer grows in proportion to what has come of it, so that a
// declared size costs nothing.
class Deframer {
 public:
  static constexpr size_t kPrefix = 5;
  static constexpr size_t kAtOnce = (size_t{1} << 20) + (size_t{64} << 10);
  static constexpr size_t kGrowth = 8;  // Times what has come.

  Deframer(Coding coding, int64_t limit) : coding_(coding), limit_(limit) {}

  // Takes bytes up to the end of a message, and says how many. Once it has
  // failed there is no way on. A message that is ready must be taken first.
  Result<size_t> Take(std::string_view bytes);

  bool ready() const { return ready_; }
  Message Pop();

  // No message has begun, nor a prefix.
  bool at_border() const { return !ready_ && prefix_size_ == 0; }

  size_t allocated() const { return capacity_; }  // For the message.

 private:
  Result<void> BeginMessage();
  Result<void> Store(std::string_view bytes);
  Result<void> EndMessage();
  void Reserve(size_t wanted);

  const Coding coding_;
  const int64_t limit_;
  std::array<unsigned char, kPrefix> prefix_{};
  uint8_t prefix_size_ = 0;
  bool ready_ = false;
  size_t length_ = 0;  // Of the message,
  size_t stored_ = 0;  // and how much of it has come.
  size_t capacity_ = 0;
  std::shared_ptr<std::byte[]> buffer_;
  std::unique_ptr<Inflater> inflater_;
  Message message_;
};

}  // namespace casemate::rpc::http2
