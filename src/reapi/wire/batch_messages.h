// FindMissingBlobs, BatchUpdateBlobs and BatchReadBlobs by hand: digests
// without strings, blob bytes by reference, an answer as a list of heads and
// blobs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/bytes.h"
#include "casemate/digest.h"
#include "casemate/io.h"
#include "casemate/result.h"
#include "reapi/wire/fields.h"

namespace casemate::reapi {

// Compressor.Value.
inline constexpr int32_t kCompressorIdentity = 0;
inline constexpr int32_t kCompressorZstd = 1;

// Parsers take a message in its pieces. kInvalidArgument for what is no such
// message, for a malformed or absent digest, and for digests that do not fit
// digest_function or each other; then
// the whole request is refused, and the message says which item it was. More
// than kMaxDigestsPerRequest items are refused in the same way. Unknown fields
// do not matter. The instance is not checked further than that it is
// UTF-8.

struct FindMissingRequest {
  std::string instance;
  std::vector<Digest> digests;
};
Result<FindMissingRequest> ParseFindMissingRequest(
    std::span<const Bytes> pieces);
Bytes FormatFindMissingResponse(std::span<const Digest> missing);

struct BatchUpdateItem {
  Digest digest;
  Slices data;  // Refers to the message's buffers, and keeps them alive.
  int32_t compressor = kCompressorIdentity;  // As sent: R-119 is the service's.
};
struct BatchUpdateRequest {
  std::string instance;
  std::vector<BatchUpdateItem> items;
};
Result<BatchUpdateRequest> ParseBatchUpdateRequest(
    std::span<const Bytes> pieces);

// What became of one item. kOk is written as an empty Status, so that it is
// always set (D-20).
struct ItemStatus {
  Code code = Code::kOk;
  std::string message;
};
struct BatchUpdateResult {
  Digest digest;
  ItemStatus status;
};
Bytes FormatBatchUpdateResponse(std::span<const BatchUpdateResult> results);

struct BatchReadRequest {
  std::string instance;
  std::vector<Digest> digests;
  bool accepts_zstd = false;  // Others in the list mean nothing.
};
Result<BatchReadRequest> ParseBatchReadRequest(std::span<const Bytes> pieces);

// A BatchReadBlobsResponse as it grows: small encoded fields, and the blobs by
// reference between them; what lies between two blobs is one piece.
class BatchReadResponse {
 public:
  // Of the message so far.
  size_t size() const { return size_; }

  // What Add would add for so many bytes of data.
  static size_t ItemSize(const Digest& digest, size_t data, Encoding encoding);
  static size_t ItemSize(const Digest& digest, const ItemStatus& status);

  void Add(const Digest& digest, Bytes data, Encoding encoding);
  void AddFailure(const Digest& digest, const ItemStatus& status);

  // The message's pieces, in order; leaves this empty.
  std::vector<Bytes> Take();

 private:
  // A blob, and where in `heads_` it belongs.
  struct Blob {
    size_t at = 0;
    Bytes data;
  };

  std::string heads_;  // All that is small, in one run of bytes.
  std::vector<Blob> blobs_;
  size_t size_ = 0;
};

// A serialized google.rpc.Status: `details` are serialized Any messages.
std::string FormatStatus(Code code, std::string_view message,
                         std::span<const std::string> details = {});

}  // namespace casemate::reapi
