// FrameScanner: sees the head of each frame, before nghttp2 does.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace casemate::rpc::http2 {

struct FrameHead {
  uint32_t length;
  uint8_t type;
  uint8_t flags;
  int32_t stream_id;
};

// nghttp2 says nothing of frames that it ignores: those of unknown types, and
// those on streams that it has forgotten. Follows what a client sends from its
// first byte on.
class FrameScanner {
 public:
  // Calls `on_head` for each head that is complete now, and says how many of
  // the bytes to process before it goes on: a frame of type `last` ends a part,
  // because what it does has to be known when the next head is looked at.
  template <typename OnHead>
  size_t Scan(std::string_view bytes, uint8_t last, OnHead on_head) {
    size_t at = 0;
    while (at < bytes.size()) {
      if (skip_ > 0) {
        const size_t part = std::min(skip_, bytes.size() - at);
        skip_ -= part;
        at += part;
        if (skip_ > 0 || !ends_part_) continue;
      } else {
        head_[size_++] = static_cast<uint8_t>(bytes[at++]);
        if (size_ < head_.size()) continue;
        size_ = 0;
        const FrameHead head = Parse();
        skip_ = head.length;
        ends_part_ = head.type == last;
        on_head(head);
        if (skip_ > 0 || !ends_part_) continue;
      }
      ends_part_ = false;
      return at;
    }
    return at;
  }

 private:
  static constexpr size_t kPreface = 24;

  FrameHead Parse() const {
    const auto number = [this](size_t from, size_t to) {
      uint32_t value = 0;
      for (size_t i = from; i < to; ++i) value = value << 8 | head_[i];
      return value;
    };
    return {number(0, 3), head_[3], head_[4],
            static_cast<int32_t>(number(5, 9) & 0x7fffffff)};
  }

  size_t skip_ = kPreface;  // Of a payload, or of the preface.
  bool ends_part_ = false;
  size_t size_ = 0;  // Of the head, so far.
  std::array<uint8_t, 9> head_{};
};

}  // namespace casemate::rpc::http2
