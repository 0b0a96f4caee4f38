// Bytes: an immutable run of bytes with shared ownership.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace casemate {

// Copies share one buffer, so passing Bytes costs a reference count, never the
// bytes. Safe to read from many threads, because nobody can write.
class Bytes {
 public:
  Bytes() = default;

  // Takes over `text`; no copy of the characters.
  static Bytes FromString(std::string text);

  // Copies what `data` holds.
  static Bytes Copy(std::span<const std::byte> data);

  // Shares `owner`, which must keep `data` alive and unchanged.
  static Bytes Share(std::shared_ptr<const void> owner,
                     std::span<const std::byte> data) {
    return Bytes(std::move(owner), data);
  }

  const std::byte* data() const { return data_.data(); }
  size_t size() const { return data_.size(); }
  bool empty() const { return data_.empty(); }
  std::span<const std::byte> span() const { return data_; }
  std::string_view view() const {
    return {reinterpret_cast<const char*>(data_.data()), data_.size()};
  }

  // The part from `offset`, of at most `length` bytes, of the same buffer.
  // `offset` must not exceed size().
  Bytes Slice(size_t offset, size_t length = SIZE_MAX) const {
    return {owner_, data_.subspan(offset, std::min(length, size() - offset))};
  }

 private:
  Bytes(std::shared_ptr<const void> owner, std::span<const std::byte> data)
      : owner_(std::move(owner)), data_(data) {}

  std::shared_ptr<const void> owner_;
  std::span<const std::byte> data_;
};

// The bytes of a string, for calls that take a span.
inline std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace casemate
