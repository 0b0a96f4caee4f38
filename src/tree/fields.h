// The fields of serialized messages, without unfolding them: FieldReader over
// bytes in memory, FieldStream over a Reader.
//
// Protocol Buffers encoding. A generated message costs many times the bytes
// that it was made from (an empty entry takes two bytes on the wire, and eighty
// in memory); what comes from strangers is therefore looked through with these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/digest.h"
#include "casemate/io.h"

namespace casemate::tree {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroup = 3,
  kGroupEnd = 4,
  kFixed32 = 5,
};

// One field of a message. `bytes` is what a kBytes field holds; `whole` is the
// field with its tag, for those who pass it on.
struct Field {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t varint = 0;
  std::string_view bytes;
  std::string_view whole;

  bool Is(uint32_t wanted, WireType as) const {
    return number == wanted && type == as;
  }
};

// One thread. `message` must outlive it and the fields.
class FieldReader {
 public:
  explicit FieldReader(std::string_view message) : rest_(message) {}

  // False at the end, and for bytes that are no message: see ok().
  bool Next(Field& field);
  bool ok() const { return ok_; }

 private:
  bool ReadField(Field& field);
  bool ReadVarint(uint64_t& value);
  bool ReadBytes(uint64_t size, std::string_view& bytes);
  bool SkipGroup(uint32_t number, int depth);

  std::string_view rest_;
  bool ok_ = true;
};

// Whether all of it can be read.
bool IsMessage(std::string_view bytes);

// A Digest message as far as it has been read: what stands twice is merged, as
// everywhere in protobuf.
struct DigestFields {
  bool there = false;
  std::string_view hash;
  int64_t size = 0;

  // Takes in the bytes of one more. False if they are no Digest message.
  bool Merge(std::string_view message);

  // kInvalidArgument unless it is a digest of that function.
  Result<Digest> Check(DigestFunction function) const;
};

// Writing, at the end of `out`.
void AppendVarint(uint64_t value, std::string& out);
void AppendBytes(uint32_t number, std::string_view bytes, std::string& out);
void AppendHead(uint32_t number, size_t size, std::string& out);  // Of bytes.
void AppendDigest(uint32_t number, const Digest& digest, std::string& out);

// The same over a Reader, in constant memory, however long the message is.
// Submessages are entered and left. Once something is wrong every call returns
// false, and status() says what. One thread.
class FieldStream {
 public:
  // Both must outlive it.
  FieldStream(const Context& ctx, Reader& reader);

  // Moves to the next field of the message it is in; false at its end. What is
  // left of the field before is skipped.
  bool Next();
  uint32_t number() const { return number_; }
  bool Is(uint32_t wanted, WireType as) const {
    return number_ == wanted && type_ == as;
  }

  uint64_t varint() const { return value_; }  // Of a kVarint field.

  // Into a kBytes field as a message, whose fields come next. After Next has
  // returned false, Leave goes back to the message around it.
  bool Enter();
  bool Leave();

  // A kBytes field of at most `max` bytes; longer ones are wrong.
  bool ReadText(std::string& text, size_t max);

  // kInvalidArgument for bytes that are no message, or the reader's error.
  Result<void> status() const { return status_; }

  // Ends the reading with `error`, unless it has ended so before. False.
  bool Fail(Error error);

 private:
  bool Fill();
  bool ReadByte(uint8_t& byte);
  bool ReadVarint(uint64_t& value);
  bool ReadTag();
  bool SkipField();
  bool SkipBytes(uint64_t count);
  bool SkipGroup(uint32_t number, int depth);
  bool Garbled();

  const Context& ctx_;
  Reader& reader_;
  Bytes buffer_;
  size_t next_ = 0;            // In `buffer_`.
  int64_t position_ = 0;       // In the stream.
  std::vector<int64_t> ends_;  // Of the messages it is in; the first has none.
  uint32_t number_ = 0;
  WireType type_ = WireType::kVarint;
  uint64_t value_ = 0;  // Of a varint; the length of a kBytes field.
  bool open_ = false;   // The field's bytes are still to be read.
  bool at_end_ = false;
  Result<void> status_;
};

}  // namespace casemate::tree
