#include "reapi/wire/fields.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace casemate::reapi {
namespace {

constexpr size_t kMaxGroupDepth = 100;  // As in the generated parsers.
constexpr size_t kMaxTagBytes = 5;

}  // namespace

void Slices::Append(Bytes piece) {
  if (piece.empty()) return;
  size_ += piece.size();
  if (first_.empty()) {
    first_ = std::move(piece);
  } else {
    rest_.push_back(std::move(piece));
  }
}

Bytes Slices::Joined() const {
  if (rest_.empty()) return first_;
  std::string text;
  text.reserve(size_);
  for (size_t i = 0; i < count(); ++i) text += piece(i).view();
  return Bytes::FromString(std::move(text));
}

FieldReader::FieldReader(std::span<const Bytes> pieces) : rest_(pieces) {
  for (const Bytes& piece : pieces) left_ += piece.size();
  Settle();
}

size_t FieldReader::here() const { return std::min(piece_size_ - at_, left_); }

void FieldReader::Settle() {
  while (left_ > 0 && at_ == piece_size_) {
    current_ = &rest_.front();
    piece_ = current_->data();
    piece_size_ = current_->size();
    at_ = 0;
    rest_ = rest_.subspan(1);
  }
}

bool FieldReader::Fail() {
  ok_ = false;
  pending_ = false;
  left_ = 0;
  return false;
}

bool FieldReader::Next() {
  if (pending_ && !SkipValue()) return false;
  if (left_ == 0) return false;
  if (!ReadTag(number_, type_)) return false;
  if (type_ == WireType::kGroupEnd) return Fail();  // Of no group.
  if (type_ == WireType::kBytes) {
    uint64_t length = 0;
    if (!ReadVarint(length, kMaxVarintBytes)) return false;
    if (length > left_) return Fail();
    length_ = static_cast<size_t>(length);
  }
  pending_ = true;
  return true;
}

// The common case by itself: all of it lies in this piece.
bool FieldReader::ReadVarint(uint64_t& value, size_t most) {
  const size_t room = std::min(here(), most);
  value = 0;
  for (size_t i = 0; i < room; ++i) {
    const auto byte = std::to_integer<uint64_t>(data()[i]);
    value |= (byte & 0x7F) << (7 * i);
    if (byte < 0x80) return Advance(i + 1);
  }
  return ReadVarintSlowly(value, most);
}

bool FieldReader::ReadVarintSlowly(uint64_t& value, size_t most) {
  value = 0;
  for (size_t i = 0; i < most && left_ > 0; ++i) {
    const auto byte = std::to_integer<uint64_t>(*data());
    Advance(1);
    value |= (byte & 0x7F) << (7 * i);
    if (byte < 0x80) return true;
  }
  return Fail();
}

bool FieldReader::ReadTag(uint32_t& number, WireType& type) {
  uint64_t tag = 0;
  if (!ReadVarint(tag, kMaxTagBytes)) return false;
  const uint64_t kind = tag & 7;
  if (tag > UINT32_MAX || tag >> 3 == 0 || kind > 5) return Fail();
  number = static_cast<uint32_t>(tag >> 3);
  type = static_cast<WireType>(kind);
  return true;
}

bool FieldReader::Advance(size_t count) {
  if (count > left_) return Fail();
  while (count > 0) {
    const size_t step = std::min(count, piece_size_ - at_);
    at_ += step;
    left_ -= step;
    count -= step;
    Settle();
  }
  return true;
}

bool FieldReader::SkipValue() {
  pending_ = false;
  if (type_ == WireType::kBytes) return Advance(length_);
  if (type_ == WireType::kGroup) return SkipGroup(number_);
  return SkipScalar(type_);
}

bool FieldReader::SkipScalar(WireType type) {
  uint64_t value = 0;
  switch (type) {
    case WireType::kVarint: return ReadVarint(value, kMaxVarintBytes);
    case WireType::kFixed64: return Advance(8);
    case WireType::kFixed32: return Advance(4);
    case WireType::kBytes:
      if (!ReadVarint(value, kMaxVarintBytes)) return false;
      return value <= left_ ? Advance(static_cast<size_t>(value)) : Fail();
    case WireType::kGroup:
    case WireType::kGroupEnd: break;
  }
  return Fail();
}

// Without recursion: the open groups' numbers stand in a small array.
bool FieldReader::SkipGroup(uint32_t number) {
  std::array<uint32_t, kMaxGroupDepth> open;
  size_t depth = 0;
  open[depth++] = number;
  while (depth > 0) {
    WireType type;
    if (left_ == 0) return Fail();
    if (!ReadTag(number, type)) return false;
    if (type == WireType::kGroup) {
      if (depth == kMaxGroupDepth) return Fail();
      open[depth++] = number;
    } else if (type == WireType::kGroupEnd) {
      if (number != open[--depth]) return Fail();
    } else if (!SkipScalar(type)) {
      return false;
    }
  }
  return true;
}

uint64_t FieldReader::Varint() {
  CASEMATE_CHECK(pending_ && type_ == WireType::kVarint);
  pending_ = false;
  uint64_t value = 0;
  if (!ReadVarint(value, kMaxVarintBytes)) return 0;
  return value;
}

// Calls `take` with each part of the value: its piece, and where in it.
template <typename Take>
void FieldReader::TakeValue(Take take) {
  CASEMATE_CHECK(pending_ && type_ == WireType::kBytes);
  pending_ = false;
  for (size_t left = length_; left > 0;) {
    const size_t part = std::min(left, here());
    take(at_, part);
    left -= part;
    Advance(part);
  }
}

Slices FieldReader::Value() {
  Slices value;
  TakeValue(
      [&](size_t at, size_t size) { value.Append(current_->Slice(at, size)); });
  return value;
}

std::string_view FieldReader::Text(std::string& scratch) {
  if (length_ <= here()) {
    const std::string_view text(reinterpret_cast<const char*>(data()), length_);
    SkipValue();
    return length_ == 0 ? std::string_view() : text;
  }
  scratch.clear();
  TakeValue([&](size_t at, size_t size) {
    scratch.append(current_->view().substr(at, size));
  });
  return scratch;
}

void FieldReader::CopyTo(std::span<char> buffer) {
  TakeValue([&](size_t at, size_t size) {
    const size_t fits = std::min(size, buffer.size());
    if (fits > 0) std::memcpy(buffer.data(), piece_ + at, fits);
    buffer = buffer.subspan(fits);
  });
}

FieldReader FieldReader::Message() {
  CASEMATE_CHECK(pending_ && type_ == WireType::kBytes);
  FieldReader inner = *this;
  inner.left_ = length_;
  inner.pending_ = false;
  return inner;
}

std::optional<uint64_t> FieldReader::Packed() {
  CASEMATE_CHECK(pending_ && type_ == WireType::kBytes);
  if (length_ == 0) return std::nullopt;
  const size_t before = left_;
  uint64_t value = 0;
  if (!ReadVarint(value, std::min(kMaxVarintBytes, length_))) {
    return std::nullopt;
  }
  length_ -= before - left_;
  return value;
}

bool IsUtf8(std::string_view text) {
  // The lowest code point of a sequence of that many bytes.
  constexpr std::array<uint32_t, 5> kLowest = {0, 0, 0x80, 0x800, 0x10000};
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const size_t length = lead >= 0xF8   ? 0
                          : lead >= 0xF0 ? 4
                          : lead >= 0xE0 ? 3
                          : lead >= 0xC0 ? 2
                                         : 0;
    if (length == 0 || length > text.size() - i) return false;
    uint32_t point = lead & (0x7Fu >> length);
    for (size_t j = 1; j < length; ++j) {
      const auto next = static_cast<unsigned char>(text[i + j]);
      if ((next & 0xC0) != 0x80) return false;
      point = point << 6 | (next & 0x3F);
    }
    const bool surrogate = point >= 0xD800 && point < 0xE000;
    if (point < kLowest[length] || point > 0x10FFFF || surrogate) return false;
    i += length;
  }
  return true;
}

char* PutVarint(char* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<char>(value | 0x80);
  *out++ = static_cast<char>(value);
  return out;
}

void AppendVarint(std::string& out, uint64_t value) {
  std::array<char, kMaxVarintBytes> buffer;
  const char* const end = PutVarint(buffer.data(), value);
  out.append(buffer.data(), static_cast<size_t>(end - buffer.data()));
}

void AppendVarintField(std::string& out, uint32_t number, uint64_t value) {
  AppendVarint(out, Tag(number, WireType::kVarint));
  AppendVarint(out, value);
}

void AppendBytesHead(std::string& out, uint32_t number, size_t length) {
  AppendVarint(out, Tag(number, WireType::kBytes));
  AppendVarint(out, length);
}

void AppendBytesField(std::string& out, uint32_t number,
                      std::string_view text) {
  AppendBytesHead(out, number, text.size());
  out += text;
}

}  // namespace casemate::reapi
