#include "tree/fields.h"

#include <algorithm>
#include <utility>

#include "files/utf8.h"

namespace casemate::tree {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr int kMaxGroupDepth = 32;
constexpr uint64_t kMaxFieldNumber = (uint64_t{1} << 29) - 1;

// A field's number and type from its tag; false if there is no such tag.
bool SplitTag(uint64_t tag, uint32_t& number, WireType& type) {
  if (tag >> 3 == 0 || tag >> 3 > kMaxFieldNumber || (tag & 7) > 5) {
    return false;
  }
  number = static_cast<uint32_t>(tag >> 3);
  type = static_cast<WireType>(tag & 7);
  return true;
}

}  // namespace

bool FieldReader::Next(Field& field) {
  if (!ok_ || rest_.empty()) return false;
  const std::string_view before = rest_;
  ok_ = ReadField(field) && field.type != WireType::kGroupEnd;
  field.whole = before.substr(0, before.size() - rest_.size());
  return ok_;
}

bool FieldReader::ReadField(Field& field) {
  uint64_t tag = 0;
  if (!ReadVarint(tag) || !SplitTag(tag, field.number, field.type)) {
    return false;
  }
  switch (field.type) {
    case WireType::kVarint: return ReadVarint(field.varint);
    case WireType::kFixed64: return ReadBytes(8, field.bytes);
    case WireType::kFixed32: return ReadBytes(4, field.bytes);
    case WireType::kGroup: return SkipGroup(field.number, 0);
    case WireType::kGroupEnd: return true;
    case WireType::kBytes: break;
  }
  uint64_t size = 0;
  return ReadVarint(size) && ReadBytes(size, field.bytes);
}

bool FieldReader::ReadVarint(uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < 10 && i < rest_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) != 0) continue;
    rest_.remove_prefix(i + 1);
    return true;
  }
  return false;
}

bool FieldReader::ReadBytes(uint64_t size, std::string_view& bytes) {
  if (size > rest_.size()) return false;
  bytes = rest_.substr(0, static_cast<size_t>(size));
  rest_.remove_prefix(bytes.size());
  return true;
}

bool FieldReader::SkipGroup(uint32_t number, int depth) {
  if (depth == kMaxGroupDepth) return false;
  Field field;
  while (true) {
    uint64_t tag = 0;
    const std::string_view before = rest_;
    if (!ReadVarint(tag) || !SplitTag(tag, field.number, field.type)) {
      return false;
    }
    if (field.type == WireType::kGroupEnd) return field.number == number;
    if (field.type == WireType::kGroup) {
      if (!SkipGroup(field.number, depth + 1)) return false;
    } else {
      rest_ = before;
      if (!ReadField(field)) return false;
    }
  }
}

bool IsMessage(std::string_view bytes) {
  FieldReader reader(bytes);
  Field field;
  while (reader.Next(field)) {
  }
  return reader.ok();
}

bool DigestFields::Merge(std::string_view message) {
  there = true;
  FieldReader reader(message);
  Field field;
  while (reader.Next(field)) {
    if (field.Is(1, WireType::kBytes)) {
      hash = field.bytes;
      if (!files::IsUtf8(hash)) return false;
    }
    if (field.Is(2, WireType::kVarint)) {
      size = static_cast<int64_t>(field.varint);
    }
  }
  return reader.ok();
}

Result<Digest> DigestFields::Check(DigestFunction function) const {
  if (!there) return Error{Code::kInvalidArgument, "it has no digest"};
  auto digest = Digest::FromHex(hash, size);
  if (digest && digest->function() != function) {
    return Error{Code::kInvalidArgument,
                 "its digest is not one of " +
                     std::string(DigestFunctionName(function))};
  }
  return digest;
}

void AppendVarint(uint64_t value, std::string& out) {
  for (; value > 0x7f; value >>= 7) {
    out += static_cast<char>((value & 0x7f) | 0x80);
  }
  out += static_cast<char>(value);
}

void AppendHead(uint32_t number, size_t size, std::string& out) {
  AppendVarint(uint64_t{number} << 3 | 2, out);
  AppendVarint(size, out);
}

void AppendBytes(uint32_t number, std::string_view bytes, std::string& out) {
  AppendHead(number, bytes.size(), out);
  out += bytes;
}

void AppendDigest(uint32_t number, const Digest& digest, std::string& out) {
  std::string message;
  AppendBytes(1, digest.Hex(), message);
  if (digest.size() != 0) {
    AppendVarint(2 << 3, message);
    AppendVarint(static_cast<uint64_t>(digest.size()), message);
  }
  AppendBytes(number, message, out);
}

FieldStream::FieldStream(const Context& ctx, Reader& reader)
    : ctx_(ctx), reader_(reader), ends_({INT64_MAX}) {}

bool FieldStream::Next() {
  if (!status_ || (open_ && !SkipField())) return false;
  open_ = false;
  if (position_ == ends_.back()) return false;
  if (ends_.size() == 1 && next_ == buffer_.size() && !Fill()) return false;
  if (!ReadTag()) return false;
  if (type_ == WireType::kGroupEnd) return Garbled();
  open_ = true;
  if (type_ == WireType::kVarint) {
    open_ = false;
    return ReadVarint(value_);
  }
  if (type_ != WireType::kBytes) return true;
  if (!ReadVarint(value_)) return false;
  return value_ <= static_cast<uint64_t>(ends_.back() - position_) || Garbled();
}

bool FieldStream::Enter() {
  if (!status_) return false;
  ends_.push_back(position_ + static_cast<int64_t>(value_));
  open_ = false;
  return true;
}

bool FieldStream::Leave() {
  if (!status_) return false;
  ends_.pop_back();
  return true;
}

bool FieldStream::ReadText(std::string& text, size_t max) {
  if (!status_) return false;
  if (value_ > max) return Garbled();
  open_ = false;
  text.clear();
  auto left = static_cast<size_t>(value_);
  while (left > 0) {
    if (next_ == buffer_.size() && !Fill()) return Garbled();
    const size_t part = std::min(left, buffer_.size() - next_);
    text += buffer_.view().substr(next_, part);
    next_ += part;
    left -= part;
  }
  position_ += static_cast<int64_t>(text.size());
  return true;
}

bool FieldStream::Fail(Error error) {
  if (status_) status_ = std::move(error);
  return false;
}

bool FieldStream::Garbled() {
  return Fail({Code::kInvalidArgument, "the message is cut or garbled"});
}

// More bytes; false at the end of the stream.
bool FieldStream::Fill() {
  if (!status_ || at_end_) return false;
  auto bytes = reader_.Next(ctx_, kBufferBytes);
  if (!bytes) return Fail(std::move(bytes).error());
  at_end_ = bytes->empty();
  buffer_ = *std::move(bytes);
  next_ = 0;
  return !at_end_;
}

bool FieldStream::ReadByte(uint8_t& byte) {
  if (position_ == ends_.back()) return Garbled();
  if (next_ == buffer_.size() && !Fill()) return Garbled();
  byte = std::to_integer<uint8_t>(buffer_.data()[next_]);
  ++next_;
  ++position_;
  return true;
}

bool FieldStream::ReadVarint(uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    uint8_t byte = 0;
    if (!ReadByte(byte)) return false;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return Garbled();
}

bool FieldStream::ReadTag() {
  uint64_t tag = 0;
  return ReadVarint(tag) && (SplitTag(tag, number_, type_) || Garbled());
}

bool FieldStream::SkipField() {
  switch (type_) {
    case WireType::kVarint: return ReadVarint(value_);
    case WireType::kFixed64: return SkipBytes(8);
    case WireType::kFixed32: return SkipBytes(4);
    case WireType::kBytes: return SkipBytes(value_);
    case WireType::kGroup: return SkipGroup(number_, 0);
    case WireType::kGroupEnd: break;
  }
  return Garbled();
}

bool FieldStream::SkipBytes(uint64_t count) {
  if (count > static_cast<uint64_t>(ends_.back() - position_)) return Garbled();
  position_ += static_cast<int64_t>(count);
  while (count > 0) {
    if (next_ == buffer_.size() && !Fill()) return Garbled();
    const uint64_t part = std::min<uint64_t>(count, buffer_.size() - next_);
    next_ += static_cast<size_t>(part);
    count -= part;
  }
  return true;
}

bool FieldStream::SkipGroup(uint32_t number, int depth) {
  if (depth == kMaxGroupDepth) return Garbled();
  while (ReadTag()) {
    if (type_ == WireType::kGroupEnd) return number_ == number || Garbled();
    if (type_ == WireType::kGroup) {
      if (!SkipGroup(number_, depth + 1)) return false;
      continue;
    }
    if (type_ == WireType::kBytes && !ReadVarint(value_)) return false;
    if (!SkipField()) return false;
  }
  return false;
}

}  // namespace casemate::tree
