#include "reapi/wire/bytestream_messages.h"

#include <array>
#include <utility>

#include "reapi/wire/choices.h"

namespace casemate::reapi {
namespace {

constexpr uint32_t kData = 10;  // In ReadResponse and WriteRequest.

Error NoSuchMessage(std::string_view name) {
  return {kMalformed, "the message is no " + std::string(name)};
}

// Of a string field, which must be UTF-8.
bool TakeText(FieldReader& reader, std::string& out) {
  std::string scratch;
  out = reader.Text(scratch);
  return IsUtf8(out);
}

}  // namespace

Result<ReadRequest> ParseReadRequest(std::span<const Bytes> pieces) {
  ReadRequest request;
  FieldReader reader(pieces);
  bool texts = true;
  while (reader.Next()) {
    if (reader.Is(1, WireType::kBytes)) {
      texts &= TakeText(reader, request.resource_name);
    } else if (reader.Is(2, WireType::kVarint)) {
      request.read_offset = reader.Int64();
    } else if (reader.Is(3, WireType::kVarint)) {
      request.read_limit = reader.Int64();
    }
  }
  if (!reader.ok() || !texts) return NoSuchMessage("ReadRequest");
  return request;
}

Bytes FormatReadRequest(const ReadRequest& request) {
  std::string out;
  if (!request.resource_name.empty()) {
    AppendBytesField(out, 1, request.resource_name);
  }
  if (request.read_offset != 0) {
    AppendVarintField(out, 2, static_cast<uint64_t>(request.read_offset));
  }
  if (request.read_limit != 0) {
    AppendVarintField(out, 3, static_cast<uint64_t>(request.read_limit));
  }
  return Bytes::FromString(std::move(out));
}

Bytes ReadResponseHead(size_t size) {
  if (size == 0) return Bytes();
  std::array<char, 1 + kMaxVarintBytes> head;
  head[0] = static_cast<char>(Tag(kData, WireType::kBytes));
  const char* const end = PutVarint(head.data() + 1, size);
  return Bytes::Copy(std::as_bytes(
      std::span(head).first(static_cast<size_t>(end - head.data()))));
}

Result<Slices> ParseReadResponse(std::span<const Bytes> pieces) {
  Slices data;
  FieldReader reader(pieces);
  while (reader.Next()) {
    if (reader.Is(kData, WireType::kBytes)) data = reader.Value();
  }
  if (!reader.ok()) return NoSuchMessage("ReadResponse");
  return data;
}

Result<WriteRequest> ParseWriteRequest(std::span<const Bytes> pieces) {
  WriteRequest request;
  FieldReader reader(pieces);
  bool texts = true;
  while (reader.Next()) {
    if (reader.Is(1, WireType::kBytes)) {
      texts &= TakeText(reader, request.resource_name);
    } else if (reader.Is(2, WireType::kVarint)) {
      request.write_offset = reader.Int64();
    } else if (reader.Is(3, WireType::kVarint)) {
      request.finish_write = reader.Varint() != 0;
    } else if (reader.Is(kData, WireType::kBytes)) {
      request.data = reader.Value();
    }
  }
  if (!reader.ok() || !texts) return NoSuchMessage("WriteRequest");
  return request;
}

Bytes WriteRequestHead(const WriteRequest& request, size_t size) {
  std::string out;
  if (!request.resource_name.empty()) {
    AppendBytesField(out, 1, request.resource_name);
  }
  if (request.write_offset != 0) {
    AppendVarintField(out, 2, static_cast<uint64_t>(request.write_offset));
  }
  if (request.finish_write) AppendVarintField(out, 3, 1);
  if (size > 0) AppendBytesHead(out, kData, size);
  return Bytes::FromString(std::move(out));
}

Bytes FormatWriteResponse(int64_t committed_size) {
  if (committed_size == 0) return Bytes();
  std::string out;  // At most 11 bytes: no heap of its own.
  AppendVarintField(out, 1, static_cast<uint64_t>(committed_size));
  return Bytes::FromString(std::move(out));
}

Result<int64_t> ParseWriteResponse(std::span<const Bytes> pieces) {
  int64_t committed_size = 0;
  FieldReader reader(pieces);
  while (reader.Next()) {
    if (reader.Is(1, WireType::kVarint)) committed_size = reader.Int64();
  }
  if (!reader.ok()) return NoSuchMessage("WriteResponse");
  return committed_size;
}

Result<std::string> ParseQueryWriteStatusRequest(
    std::span<const Bytes> pieces) {
  std::string name;
  FieldReader reader(pieces);
  bool texts = true;
  while (reader.Next()) {
    if (reader.Is(1, WireType::kBytes)) texts &= TakeText(reader, name);
  }
  if (!reader.ok() || !texts) return NoSuchMessage("QueryWriteStatusRequest");
  return name;
}

Bytes FormatQueryWriteStatusRequest(std::string_view resource_name) {
  std::string out;
  if (!resource_name.empty()) AppendBytesField(out, 1, resource_name);
  return Bytes::FromString(std::move(out));
}

Bytes FormatQueryWriteStatusResponse(WriteStatus status) {
  std::string out;
  if (status.committed_size != 0) {
    AppendVarintField(out, 1, static_cast<uint64_t>(status.committed_size));
  }
  if (status.complete) AppendVarintField(out, 2, 1);
  return Bytes::FromString(std::move(out));
}

Result<WriteStatus> ParseQueryWriteStatusResponse(
    std::span<const Bytes> pieces) {
  WriteStatus status;
  FieldReader reader(pieces);
  while (reader.Next()) {
    if (reader.Is(1, WireType::kVarint)) {
      status.committed_size = reader.Int64();
    } else if (reader.Is(2, WireType::kVarint)) {
      status.complete = reader.Varint() != 0;
    }
  }
  if (!reader.ok()) return NoSuchMessage("QueryWriteStatusResponse");
  return status;
}

}  // namespace casemate::reapi
