#include "store/streams.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/try.h"
#include "codec/zstd.h"

namespace casemate::store {
namespace {

class BytesReader : public Reader {
 public:
  BytesReader(Bytes bytes, size_t offset)
      : bytes_(std::move(bytes)), offset_(offset) {}

  Result<size_t> Read(const Context& ctx,
                      std::span<std::byte> buffer) override {
    RETURN_IF_ERROR(ctx.Check());
    const size_t count = std::min(buffer.size(), bytes_.size() - offset_);
    if (count > 0) std::memcpy(buffer.data(), bytes_.data() + offset_, count);
    offset_ += count;
    return count;
  }

  Result<Bytes> Next(const Context& ctx, size_t max_bytes) override {
    RETURN_IF_ERROR(ctx.Check());
    return *TryNext(max_bytes);
  }

  std::optional<Result<Bytes>> TryNext(size_t max_bytes) override {
    Bytes next = bytes_.Slice(offset_, max_bytes);
    offset_ += next.size();
    return next;
  }

 private:
  const Bytes bytes_;
  size_t offset_;
};

class BytesSource : public Source {
 public:
  explicit BytesSource(Bytes bytes) : bytes_(std::move(bytes)) {}

  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }

  Result<std::unique_ptr<Reader>> Open(const Context&,
                                       int64_t offset) const override {
    if (offset < 0 || offset > size()) {
      return Error{Code::kOutOfRange, "read bytes: offset beyond the end"};
    }
    return MakeBytesReader(bytes_, static_cast<size_t>(offset));
  }

 private:
  const Bytes bytes_;
};

}  // namespace

std::unique_ptr<Reader> MakeBytesReader(Bytes bytes, size_t offset) {
  return std::make_unique<BytesReader>(std::move(bytes), offset);
}

std::unique_ptr<Source> MakeBytesSource(Bytes bytes) {
  return std::make_unique<BytesSource>(std::move(bytes));
}

Result<std::unique_ptr<Reader>> OpenIdentity(const Context& ctx,
                                             const Source& source,
                                             int64_t max_size) {
  ASSIGN_OR_RETURN(auto reader, source.Open(ctx, 0));
  if (reader->encoding() == Encoding::kIdentity) return reader;
  return codec::MakeDecodingReader(std::move(reader), max_size);
}

Result<Bytes> ReadAll(const Context& ctx, Reader& reader, int64_t size) {
  constexpr size_t kFirst = 64 << 10;
  const auto expected = static_cast<size_t>(size);
  // One byte more than expected, so that the end shows without growing.
  std::string text(std::min(expected, kFirst) + 1, '\0');
  size_t filled = 0;
  while (true) {
    if (filled == text.size()) text.resize(std::min(expected, 2 * filled) + 1);
    const auto room = std::as_writable_bytes(std::span(text)).subspan(filled);
    ASSIGN_OR_RETURN(const size_t got, reader.Read(ctx, room));
    if (got == 0) break;
    filled += got;
    if (filled > expected) break;
  }
  if (filled != expected) {
    return Error{Code::kDataLoss,
                 "the blob should have " + std::to_string(size) +
                     " bytes, not " +
                     (filled > expected ? "more" : std::to_string(filled))};
  }
  text.resize(filled);
  return Bytes::FromString(std::move(text));
}

Result<void> CheckOffset(const Digest& digest, int64_t offset) {
  if (offset >= 0 && offset <= digest.size()) return {};
  return Error{Code::kOutOfRange, "read blob " + digest.ToString() +
                                      " from offset " + std::to_string(offset) +
                                      ": there is no such offset"};
}

Error Absent(const Digest& digest) {
  return {Code::kNotFound, "blob " + digest.ToString() + " is not there"};
}

}  // namespace casemate::store
