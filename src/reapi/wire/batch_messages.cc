#include "reapi/wire/batch_messages.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "reapi/wire/choices.h"
#include "reapi/wire/digest_fields.h"

namespace casemate::reapi {
namespace {

Error NoSuchMessage(std::string_view name) {
  return {kMalformed, "the message is no " + std::string(name)};
}

Error WrapItem(Error error, size_t index) {
  return Wrap(std::move(error), "item " + std::to_string(index));
}

Error TooMany() {
  return {kMalformed, "more than " + std::to_string(kMaxDigestsPerRequest) +
                          " digests in one request"};
}

// A digest may be seen before the field that says of which function it is.
Result<void> CheckFunction(int64_t number, std::span<const Digest> digests) {
  ASSIGN_OR_RETURN(FunctionCheck check, FunctionCheck::Start(number));
  for (size_t i = 0; i < digests.size(); ++i) {
    auto fits = check.Check(digests[i]);
    if (!fits) return WrapItem(std::move(fits).error(), i);
  }
  return {};
}

// So many digests at most are in a message of that size.
size_t MostDigests(std::span<const Bytes> pieces) {
  constexpr size_t kLeast = 44;  // SHA-1, with heads and a size.
  size_t size = 0;
  for (const Bytes& piece : pieces) size += piece.size();
  return std::min(size / kLeast, kMaxDigestsPerRequest);
}

// The fields that all three requests have.
struct Common {
  std::string instance;
  bool texts = true;
  int64_t function = 0;

  void TakeInstance(FieldReader& reader) {
    std::string scratch;
    instance = reader.Text(scratch);
    texts &= IsUtf8(instance);
  }
};

Result<void> AddDigest(FieldReader& reader, std::vector<Digest>& digests) {
  DigestField field;
  if (!field.Merge(reader.Message())) return NoSuchMessage("Digest");
  if (digests.size() == kMaxDigestsPerRequest) return TooMany();
  auto digest = field.Get();
  if (!digest) return WrapItem(std::move(digest).error(), digests.size());
  digests.push_back(*digest);
  return {};
}

Result<BatchUpdateItem> ParseItem(FieldReader reader) {
  BatchUpdateItem item;
  DigestField digest;
  bool whole = true;
  while (reader.Next()) {
    if (reader.Is(1, WireType::kBytes)) {
      whole &= digest.Merge(reader.Message());
    } else if (reader.Is(2, WireType::kBytes)) {
      item.data = reader.Value();
    } else if (reader.Is(3, WireType::kVarint)) {
      item.compressor = reader.Enum();
    }
  }
  if (!reader.ok() || !whole) return NoSuchMessage("BatchUpdateBlobs item");
  ASSIGN_OR_RETURN(item.digest, digest.Get());
  return item;
}

size_t StatusSize(const ItemStatus& status) {
  size_t size = 0;
  if (status.code != Code::kOk) {
    size += 1 + VarintSize(static_cast<uint64_t>(status.code));
  }
  if (!status.message.empty()) {
    size += 1 + VarintSize(status.message.size()) + status.message.size();
  }
  return size;
}

void AppendStatusField(std::string& out, uint32_t number,
                       const ItemStatus& status) {
  AppendBytesHead(out, number, StatusSize(status));
  if (status.code != Code::kOk) {
    AppendVarintField(out, 1, static_cast<uint64_t>(status.code));
  }
  if (!status.message.empty()) AppendBytesField(out, 2, status.message);
}

// With its head, for field numbers below 16.
size_t FieldSize(size_t value) { return 1 + VarintSize(value) + value; }

// Of a BatchReadBlobs item, without its head.
size_t ReadItemSize(const Digest& digest, size_t data, Encoding encoding) {
  size_t size = FieldSize(DigestSize(digest)) + FieldSize(0);
  if (data > 0) size += FieldSize(data);
  if (encoding == Encoding::kZstd) size += 2;
  return size;
}

size_t FailureSize(const Digest& digest, const ItemStatus& status) {
  return FieldSize(DigestSize(digest)) + FieldSize(StatusSize(status));
}

}  // namespace

Result<FindMissingRequest> ParseFindMissingRequest(
    std::span<const Bytes> pieces) {
  Common common;
  FindMissingRequest request;
  request.digests.reserve(MostDigests(pieces));
  FieldReader reader(pieces);
  while (reader.Next()) {
    if (reader.Is(2, WireType::kBytes)) {
      RETURN_IF_ERROR(AddDigest(reader, request.digests));
    } else if (reader.Is(1, WireType::kBytes)) {
      common.TakeInstance(reader);
    } else if (reader.Is(3, WireType::kVarint)) {
      common.function = reader.Enum();
    }
  }
  if (!reader.ok() || !common.texts) {
    return NoSuchMessage("FindMissingBlobsRequest");
  }
  RETURN_IF_ERROR(CheckFunction(common.function, request.digests));
  request.instance = std::move(common.instance);
  return request;
}

Bytes FormatFindMissingResponse(std::span<const Digest> missing) {
  size_t size = 0;
  for (const Digest& digest : missing) size += FieldSize(DigestSize(digest));
  std::string out;
  out.reserve(size);
  for (const Digest& digest : missing) AppendDigestField(out, 2, digest);
  return Bytes::FromString(std::move(out));
}

Result<BatchUpdateRequest> ParseBatchUpdateRequest(
    std::span<const Bytes> pieces) {
  Common common;
  BatchUpdateRequest request;
  FieldReader reader(pieces);
  while (reader.Next()) {
    if (reader.Is(2, WireType::kBytes)) {
      if (request.items.size() == kMaxDigestsPerRequest) return TooMany();
      auto item = ParseItem(reader.Message());
      if (!item) {
        return WrapItem(std::move(item).error(), request.items.size());
      }
      request.items.push_back(*std::move(item));
    } else if (reader.Is(1, WireType::kBytes)) {
      common.TakeInstance(reader);
    } else if (reader.Is(5, WireType::kVarint)) {
      common.function = reader.Enum();
    }
  }
  if (!reader.ok() || !common.texts) {
    return NoSuchMessage("BatchUpdateBlobsRequest");
  }
  ASSIGN_OR_RETURN(FunctionCheck check, FunctionCheck::Start(common.function));
  for (size_t i = 0; i < request.items.size(); ++i) {
    auto fits = check.Check(request.items[i].digest);
    if (!fits) return WrapItem(std::move(fits).error(), i);
  }
  request.instance = std::move(common.instance);
  return request;
}

Bytes FormatBatchUpdateResponse(std::span<const BatchUpdateResult> results) {
  std::string out;
  for (const BatchUpdateResult& each : results) {
    AppendBytesHead(out, 1, FailureSize(each.digest, each.status));
    AppendDigestField(out, 1, each.digest);
    AppendStatusField(out, 2, each.status);
  }
  return Bytes::FromString(std::move(out));
}

Result<BatchReadRequest> ParseBatchReadRequest(std::span<const Bytes> pieces) {
  Common common;
  BatchReadRequest request;
  FieldReader reader(pieces);
  while (reader.Next()) {
    if (reader.Is(2, WireType::kBytes)) {
      RETURN_IF_ERROR(AddDigest(reader, request.digests));
    } else if (reader.Is(1, WireType::kBytes)) {
      common.TakeInstance(reader);
    } else if (reader.Is(3, WireType::kVarint)) {
      request.accepts_zstd |= reader.Enum() == kCompressorZstd;
    } else if (reader.Is(3, WireType::kBytes)) {
      while (const auto value = reader.Packed()) {
        request.accepts_zstd |= static_cast<int32_t>(*value) == kCompressorZstd;
      }
    } else if (reader.Is(4, WireType::kVarint)) {
      common.function = reader.Enum();
    }
  }
  if (!reader.ok() || !common.texts) {
    return NoSuchMessage("BatchReadBlobsRequest");
  }
  RETURN_IF_ERROR(CheckFunction(common.function, request.digests));
  request.instance = std::move(common.instance);
  return request;
}

size_t BatchReadResponse::ItemSize(const Digest& digest, size_t data,
                                   Encoding encoding) {
  return FieldSize(ReadItemSize(digest, data, encoding));
}

size_t BatchReadResponse::ItemSize(const Digest& digest,
                                   const ItemStatus& status) {
  return FieldSize(FailureSize(digest, status));
}

// The data comes last, so that all that is small lies in one piece before it.
void BatchReadResponse::Add(const Digest& digest, Bytes data,
                            Encoding encoding) {
  size_ += ItemSize(digest, data.size(), encoding);
  AppendBytesHead(heads_, 1, ReadItemSize(digest, data.size(), encoding));
  AppendDigestField(heads_, 1, digest);
  AppendStatusField(heads_, 3, {});
  if (encoding == Encoding::kZstd) {
    AppendVarintField(heads_, 4, uint64_t{kCompressorZstd});
  }
  if (data.empty()) return;
  AppendBytesHead(heads_, 2, data.size());
  blobs_.push_back({heads_.size(), std::move(data)});
}

void BatchReadResponse::AddFailure(const Digest& digest,
                                   const ItemStatus& status) {
  size_ += ItemSize(digest, status);
  AppendBytesHead(heads_, 1, FailureSize(digest, status));
  AppendDigestField(heads_, 1, digest);
  AppendStatusField(heads_, 3, status);
}

std::vector<Bytes> BatchReadResponse::Take() {
  size_ = 0;
  std::vector<Bytes> pieces;
  pieces.reserve(2 * blobs_.size() + 1);
  const Bytes heads = Bytes::FromString(std::exchange(heads_, {}));
  size_t from = 0;
  for (Blob& blob : std::exchange(blobs_, {})) {
    pieces.push_back(heads.Slice(from, blob.at - from));
    pieces.push_back(std::move(blob.data));
    from = blob.at;
  }
  if (from < heads.size()) pieces.push_back(heads.Slice(from));
  return pieces;
}

std::string FormatStatus(Code code, std::string_view message,
                         std::span<const std::string> details) {
  std::string out;
  if (code != Code::kOk) {
    AppendVarintField(out, 1, static_cast<uint64_t>(code));
  }
  if (!message.empty()) AppendBytesField(out, 2, message);
  for (const std::string& any : details) AppendBytesField(out, 3, any);
  return out;
}

}  // namespace casemate::reapi
