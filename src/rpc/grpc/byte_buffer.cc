#include "rpc/grpc/byte_buffer.h"

#include <grpc/slice.h>

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rpc/grpc/inflate.h"

namespace casemate::rpc {
namespace {

// Up to here a copy is cheaper than sharing, and does not pin a whole block
// that the wire has read.
constexpr size_t kCopied = 1024;

std::span<const std::byte> Span(const grpc_slice& slice) {
  return {reinterpret_cast<const std::byte*>(GRPC_SLICE_START_PTR(slice)),
          GRPC_SLICE_LENGTH(slice)};
}

// What a grpc::ByteBuffer is, as its own header asserts; null if it is empty.
const grpc_byte_buffer* Raw(const grpc::ByteBuffer& buffer) {
  static_assert(sizeof buffer == sizeof(grpc_byte_buffer*));
  return *reinterpret_cast<grpc_byte_buffer* const*>(&buffer);
}

Bytes CopyAll(std::span<const grpc_slice> slices, size_t size) {
  if (slices.size() == 1) return Bytes::Copy(Span(slices[0]));
  std::string text;
  text.reserve(size);
  for (const grpc_slice& slice : slices) {
    const auto bytes = Span(slice);
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return Bytes::FromString(std::move(text));
}

// Holds a reference of each.
class Slices {
 public:
  explicit Slices(std::span<const grpc_slice> slices)
      : slices_(slices.begin(), slices.end()) {
    for (const grpc_slice& slice : slices_) grpc_slice_ref(slice);
  }
  ~Slices() {
    for (const grpc_slice& slice : slices_) grpc_slice_unref(slice);
  }
  Slices(const Slices&) = delete;
  Slices& operator=(const Slices&) = delete;
  const std::vector<grpc_slice>& all() const { return slices_; }

 private:
  const std::vector<grpc_slice> slices_;
};

Message Share(std::span<const grpc_slice> slices) {
  const auto owner = std::make_shared<const Slices>(slices);
  Message message;
  for (const grpc_slice& slice : owner->all()) {
    message.Append(Bytes::Share(owner, Span(slice)));
  }
  return message;
}

// One slice with all of it.
grpc_slice CopyOf(const Message& message) {
  grpc_slice slice = grpc_slice_malloc(message.size());
  uint8_t* to = GRPC_SLICE_START_PTR(slice);
  for (const Bytes& piece : message.pieces()) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  return slice;
}

// A slice of no bytes yet that keeps the message.
grpc_slice Keep(Message message) {
  auto* const kept = new Message(std::move(message));
  const auto release = [](void* data) { delete static_cast<Message*>(data); };
  // gRPC does not write to it; its signature predates that promise.
  auto* const data = const_cast<std::byte*>(kept->pieces().front().data());
  return grpc_slice_new_with_user_data(data, 0, release, kept);
}

// A piece of the message that `keeper` keeps; a few bytes are copied into the
// slice itself.
grpc_slice Part(grpc_slice keeper, const Bytes& piece) {
  if (piece.size() <= GRPC_SLICE_INLINED_SIZE) {
    return grpc_slice_from_copied_buffer(
        reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  keeper.data.refcounted.bytes =
      reinterpret_cast<uint8_t*>(const_cast<std::byte*>(piece.data()));
  keeper.data.refcounted.length = piece.size();
  return grpc_slice_ref(keeper);
}

}  // namespace

Result<Message> FromGrpc(grpc::ByteBuffer& buffer, int64_t limit) {
  const grpc_byte_buffer* const raw = Raw(buffer);
  if (raw == nullptr) return Message();
  const grpc_slice_buffer& content = raw->data.raw.slice_buffer;
  const std::span<const grpc_slice> slices(content.slices, content.count);
  Message message = content.length <= kCopied
                        ? Message(CopyAll(slices, content.length))
                        : Share(slices);
  const grpc_compression_algorithm compression = raw->data.raw.compression;
  buffer.Clear();
  if (compression == GRPC_COMPRESS_NONE) return message;
  return Inflate(message,
                 compression == GRPC_COMPRESS_GZIP ? Compression::kGzip
                                                   : Compression::kDeflate,
                 limit);
}

grpc::ByteBuffer ToGrpc(Message message) {
  using grpc::Slice;
  if (message.size() <= kCopied) {
    const Slice slice(CopyOf(message), Slice::STEAL_REF);
    return {&slice, 1};
  }
  const std::vector<Bytes>& pieces = message.pieces();
  std::array<Slice, 4> few;
  std::vector<Slice> many(pieces.size() > few.size() ? pieces.size() : 0);
  Slice* const slices = many.empty() ? few.data() : many.data();
  const size_t count = pieces.size();
  const Bytes* const first = pieces.data();  // Moving leaves it where it is.
  const grpc_slice keeper = Keep(std::move(message));
  for (size_t i = 0; i < count; ++i) {
    slices[i] = Slice(Part(keeper, first[i]), Slice::STEAL_REF);
  }
  grpc_slice_unref(keeper);
  return {slices, count};
}

}  // namespace casemate::rpc
