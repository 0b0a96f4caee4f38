// Message: one message of a call, as bytes that were never joined.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "casemate/bytes.h"

namespace casemate::rpc {

// The serialized bytes of one message, in pieces, in order. An answer is made
// of a few encoded fields and the blobs between them; a request is cut wherever
// the wire happened to cut it. Copies share the bytes. The wire frames it: the
// five bytes of gRPC's prefix are not in here.
class Message {
 public:
  Message() = default;
  explicit Message(Bytes bytes) { Append(std::move(bytes)); }

  // Empty pieces are left out.
  void Append(Bytes piece) {
    if (piece.empty()) return;
    size_ += piece.size();
    pieces_.push_back(std::move(piece));
  }

  size_t size() const { return size_; }  // Of all pieces.
  const std::vector<Bytes>& pieces() const { return pieces_; }

  // All of it in one piece; copies unless it is one already. For messages that
  // are known to be small.
  Bytes Joined() const;

 private:
  std::vector<Bytes> pieces_;
  size_t size_ = 0;
};

}  // namespace casemate::rpc
