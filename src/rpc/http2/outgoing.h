// Outgoing: the messages of a stream that were not sent yet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rpc/http2/output.h"
#include "rpc/message.h"

namespace casemate::rpc::http2 {

// The message that is being written and the last one, which may be added
// meanwhile; each with its prefix before it.
class Outgoing {
 public:
  void Add(Message message);  // Not a third.

  size_t size() const { return size_; }  // Bytes left, with prefixes.

  // No part of a message has gone out without the rest.
  bool at_border() const { return size_ == 0 || untouched_; }

  // Moves the next `count` bytes to `output`.
  void Emit(Output& output, size_t count);

  void Clear();

 private:
  struct Item {
    Message message;
    std::array<char, 5> prefix{};
    size_t prefix_sent = 0;
    size_t piece = 0;   // Of the message, and
    size_t offset = 0;  // how much of the piece is gone.
  };

  size_t EmitPart(Output& output, size_t count);

  std::array<Item, 2> items_;
  size_t first_ = 0, count_ = 0;
  size_t size_ = 0;
  bool untouched_ = true;  // The first item.
};

}  // namespace casemate::rpc::http2
