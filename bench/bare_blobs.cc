#include "bench/bare_blobs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "digest/hasher.h"
#include "reapi/wire/bytestream_messages.h"

namespace casemate::bench {
namespace {

constexpr size_t kMessage = size_t{1} << 20;

int Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  CASEMATE_CHECK(fd >= 0);
  return fd;
}

// At most `most` bytes from `offset`.
grpc::Slice ReadSlice(int fd, size_t most, int64_t offset) {
  grpc_slice slice = grpc_slice_malloc_large(most);
  const ssize_t got = pread(fd, GRPC_SLICE_START_PTR(slice), most, offset);
  CASEMATE_CHECK(got >= 0);
  GRPC_SLICE_SET_LENGTH(slice, static_cast<size_t>(got));
  return {slice, grpc::Slice::STEAL_REF};
}

constexpr size_t kSmall = 4096;  // What each of them is known to have.

grpc::Slice ReadSmall(const std::string& path) {
  const int fd = Open(path);
  grpc::Slice slice = ReadSlice(fd, kSmall, 0);
  close(fd);
  return slice;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// So many blobs in one message; several have a head each.
template <typename Next>
Piece InOne(size_t count, Next next) {
  const std::string head(kBatchHead, 'h');
  std::vector<grpc::Slice> slices;
  slices.reserve(2 * count);
  for (size_t i = 0; i < count; ++i) {
    if (count > 1) slices.emplace_back(head);
    slices.push_back(next(i));
  }
  return {{slices.data(), slices.size()}};
}

grpc::Slice NextInMemory() {
  static const std::string memory(kMemoryBlobs * kSmall, 'm');
  static std::atomic<size_t> next = 0;
  const size_t at = next.fetch_add(1) % kMemoryBlobs * kSmall;
  return {memory.data() + at, kSmall, grpc::Slice::STATIC_SLICE};
}

Source Memory(const grpc::ByteBuffer& request) {
  return [count = std::stoul(ToText(request))] {
    return InOne(count, [](size_t) { return NextInMemory(); });
  };
}

Source Files(const grpc::ByteBuffer& request) {
  return [paths = Lines(ToText(request))] {
    return InOne(paths.size(), [&](size_t i) { return ReadSmall(paths[i]); });
  };
}

// An open file; closed at its end.
class File {
 public:
  explicit File(const std::string& path) : fd_(Open(path)) {
    struct stat stat;
    CASEMATE_CHECK(fstat(fd_, &stat) == 0);
    size_ = stat.st_size;
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Piece Next() {
    const grpc::Slice slice = ReadSlice(fd_, kMessage, position_);
    position_ += static_cast<int64_t>(slice.size());
    return {{&slice, 1}, position_ >= size_};
  }

 private:
  const int fd_;
  int64_t size_ = 0;
  int64_t position_ = 0;
};

Source Stream(const grpc::ByteBuffer& request) {
  return
      [file = std::make_shared<File>(ToText(request))] { return file->Next(); };
}

std::span<const std::byte> SpanOf(const grpc::Slice& slice) {
  return std::as_bytes(std::span(slice.begin(), slice.size()));
}

std::vector<grpc::Slice> SlicesOf(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  CASEMATE_CHECK(message.Dump(&slices).ok());
  return slices;
}

Sink ToHashEach() {
  return [](const grpc::ByteBuffer& message) {
    digest::Hasher hasher(DigestFunction::kSha256);
    for (const grpc::Slice& slice : SlicesOf(message)) {
      for (auto rest = SpanOf(slice); !rest.empty();) {
        const size_t room = kSmall - static_cast<size_t>(hasher.size());
        const auto part = rest.first(std::min(room, rest.size()));
        hasher.Update(part);
        rest = rest.subspan(part.size());
        if (hasher.size() == static_cast<int64_t>(kSmall)) hasher.Finish();
      }
    }
  };
}

// Decodes and hashes.
class Unzstd {
 public:
  ~Unzstd() { ZSTD_freeDCtx(context_); }

  void Take(std::span<const std::byte> data) {
    ZSTD_inBuffer in{data.data(), data.size(), 0};
    for (bool full = false; full || in.pos < in.size;) {
      ZSTD_outBuffer out{output_.data(), output_.size(), 0};
      const size_t code = ZSTD_decompressStream(context_, &out, &in);
      CASEMATE_CHECK(!ZSTD_isError(code));
      hasher_.Update(std::span(output_).first(out.pos));
      full = out.pos == out.size;
    }
  }

 private:
  ZSTD_DCtx* const context_ = ZSTD_createDCtx();
  std::vector<std::byte> output_ = std::vector<std::byte>(128 << 10);
  digest::Hasher hasher_{DigestFunction::kSha256};
};

Sink ToUnzstd() {
  auto unzstd = std::make_shared<Unzstd>();
  return [unzstd](const grpc::ByteBuffer& message) {
    std::vector<Bytes> pieces;  // The message's, by reference.
    const std::vector<grpc::Slice> slices = SlicesOf(message);
    for (const grpc::Slice& slice : slices) {
      pieces.push_back(
          Bytes::Share(std::shared_ptr<const void>(), SpanOf(slice)));
    }
    const auto request = reapi::ParseWriteRequest(pieces);
    CASEMATE_CHECK(request.has_value());
    for (size_t i = 0; i < request->data.count(); ++i) {
      unzstd->Take(request->data.piece(i).span());
    }
  };
}

Sink ToNowhere() {
  return [](const grpc::ByteBuffer&) {};
}

}  // namespace

std::map<std::string, BareMethod> BareBlobMethods() {
  return {{"/bare/Memory", {.read = Memory}},
          {"/bare/Files", {.read = Files}},
          {"/bare/Stream", {.read = Stream}},
          {"/bare/HashEach", {.write = ToHashEach}},
          {"/bare/Unzstd", {.write = ToUnzstd}},
          {"/bare/Take", {.write = ToNowhere}}};
}

}  // namespace casemate::bench
