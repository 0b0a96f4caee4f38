// The messages of google.bytestream by hand: their few fields, and blob bytes
// by reference. docs: field numbers as in proto/google/bytestream.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/bytes.h"
#include "casemate/result.h"
#include "reapi/wire/fields.h"

namespace casemate::reapi {

// Parsers take a message in its pieces. kInvalidArgument for what is no such
// message; unknown fields do not matter.

struct ReadRequest {
  std::string resource_name;
  int64_t read_offset = 0;
  int64_t read_limit = 0;
};
Result<ReadRequest> ParseReadRequest(std::span<const Bytes> pieces);
Bytes FormatReadRequest(const ReadRequest& request);

// What precedes `size` bytes of data in a ReadResponse that holds nothing else;
// empty for no data.
Bytes ReadResponseHead(size_t size);

// The data of a ReadResponse.
Result<Slices> ParseReadResponse(std::span<const Bytes> pieces);

struct WriteRequest {
  std::string resource_name;
  int64_t write_offset = 0;
  bool finish_write = false;
  Slices data;
};
Result<WriteRequest> ParseWriteRequest(std::span<const Bytes> pieces);

// All but the data of a WriteRequest that holds `size` bytes of it: they
// follow.
Bytes WriteRequestHead(const WriteRequest& request, size_t size);

Bytes FormatWriteResponse(int64_t committed_size);
Result<int64_t> ParseWriteResponse(std::span<const Bytes> pieces);

Result<std::string> ParseQueryWriteStatusRequest(std::span<const Bytes> pieces);
Bytes FormatQueryWriteStatusRequest(std::string_view resource_name);

struct WriteStatus {
  int64_t committed_size = 0;
  bool complete = false;
};
Bytes FormatQueryWriteStatusResponse(WriteStatus status);
Result<WriteStatus> ParseQueryWriteStatusResponse(
    std::span<const Bytes> pieces);

}  // namespace casemate::reapi
