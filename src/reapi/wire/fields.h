// Protobuf's wire format by hand, for the messages that carry blobs: fields are
// read out of a message's pieces as the wire cut them, and bytes by reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/bytes.h"

namespace casemate::reapi {

// Bytes of one field by reference: mostly one piece, several where the wire cut
// it. Keeps the buffers of the pieces alive.
class Slices {
 public:
  void Append(Bytes piece);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t count() const { return first_.empty() ? 0 : 1 + rest_.size(); }
  const Bytes& piece(size_t i) const { return i == 0 ? first_ : rest_[i - 1]; }

  // All of it in one piece; copies unless it is one already.
  Bytes Joined() const;

 private:
  Bytes first_;  // By itself, so that the common case needs no heap.
  std::vector<Bytes> rest_;
  size_t size_ = 0;
};

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroup = 3,
  kGroupEnd = 4,
  kFixed32 = 5,
};

// Walks over the fields of one message:
//
//   while (reader.Next()) {
//     if (reader.Is(1, WireType::kBytes)) name = reader.Text(scratch);
//     if (reader.Is(2, WireType::kVarint)) size = reader.Varint();
//   }
//   if (!reader.ok()) …
//
// A value that was not taken is skipped: unknown fields, groups, and known
// numbers with another type (as the generated parsers do). Bad input ends the
// walk; it costs no memory, and time linear in the bytes. Copies walk on their
// own. The pieces must outlive the reader.
class FieldReader {
 public:
  explicit FieldReader(std::span<const Bytes> pieces);

  // Moves to the next field; false at the end and at what is malformed.
  bool Next();
  bool ok() const { return ok_; }

  uint32_t number() const { return number_; }
  WireType type() const { return type_; }
  bool Is(uint32_t number, WireType type) const {
    return number_ == number && type_ == type;
  }

  // The current field's value, at most once, by the type it has. Integers of 32
  // bits and enums are the low half of a varint.
  uint64_t Varint();
  int64_t Int64() { return static_cast<int64_t>(Varint()); }
  int32_t Enum() { return static_cast<int32_t>(Varint()); }

  // kBytes: how long it is, without taking it.
  size_t length() const { return length_; }
  Slices Value();
  // Refers to the piece it lies in, else to `scratch`, where it was joined.
  std::string_view Text(std::string& scratch);
  // Its first bytes, as many as fit into `buffer`.
  void CopyTo(std::span<char> buffer);
  // A walk over the value as a message. Its ok() has to be asked as well.
  FieldReader Message();
  // Varints packed into the value, one after the other: nullopt at the end.
  std::optional<uint64_t> Packed();

 private:
  const std::byte* data() const { return piece_ + at_; }
  size_t here() const;  // Bytes in this piece that belong to the message.
  void Settle();        // Onto the next piece if this one is used up.
  bool Fail();
  bool ReadVarint(uint64_t& value, size_t most);
  bool ReadVarintSlowly(uint64_t& value, size_t most);
  bool ReadTag(uint32_t& number, WireType& type);
  bool Advance(size_t count);
  bool SkipValue();
  bool SkipScalar(WireType type);
  bool SkipGroup(uint32_t number);
  template <typename Take>
  void TakeValue(Take take);

  std::span<const Bytes> rest_;  // Pieces after this one.
  const Bytes* current_ = nullptr;
  const std::byte* piece_ = nullptr;
  size_t piece_size_ = 0;
  size_t at_ = 0;    // In the piece.
  size_t left_ = 0;  // Of the message, from here.
  uint32_t number_ = 0;
  WireType type_ = WireType::kVarint;
  size_t length_ = 0;     // Of a kBytes value, what is left of it.
  bool pending_ = false;  // The current value was not taken.
  bool ok_ = true;
};

// Whether it may stand in a string field.
bool IsUtf8(std::string_view text);

// --- Writing: appended to `out`. Zero values are the caller's to leave out.

inline constexpr size_t kMaxVarintBytes = 10;

constexpr size_t VarintSize(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

constexpr uint32_t Tag(uint32_t number, WireType type) {
  return number << 3 | static_cast<uint32_t>(type);
}

// Returns the end of what was written; at most kMaxVarintBytes.
char* PutVarint(char* out, uint64_t value);

void AppendVarint(std::string& out, uint64_t value);
void AppendVarintField(std::string& out, uint32_t number, uint64_t value);
void AppendBytesField(std::string& out, uint32_t number, std::string_view text);
// The head of a kBytes field alone: its value follows.
void AppendBytesHead(std::string& out, uint32_t number, size_t length);

}  // namespace casemate::reapi
