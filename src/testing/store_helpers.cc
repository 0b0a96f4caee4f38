#include "testing/store_helpers.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "codec/zstd.h"
#include "digest/hasher.h"

namespace casemate::testing {
namespace {

class TextReader : public Reader {
 public:
  TextReader(std::string text, Encoding encoding)
      : text_(std::move(text)), encoding_(encoding) {}

  Result<size_t> Read(const Context& ctx,
                      std::span<std::byte> buffer) override {
    if (auto live = ctx.Check(); !live) return live.error();
    const size_t count = std::min(buffer.size(), text_.size() - done_);
    std::memcpy(buffer.data(), text_.data() + done_, count);
    done_ += count;
    return count;
  }

  Encoding encoding() const override { return encoding_; }

 private:
  const std::string text_;
  const Encoding encoding_;
  size_t done_ = 0;
};

}  // namespace

Digest DigestOf(const std::string& text, DigestFunction function) {
  return digest::Hash(function, AsBytes(text));
}

Blob BlobOf(const std::string& text) {
  return Blob::Of(DigestFunction::kSha256, Bytes::FromString(text));
}

Digest MustPut(BlobStore& store, const std::string& text) {
  const Digest digest = DigestOf(text);
  const auto put = store.Put({}, digest, TextSource(text));
  CASEMATE_CHECK(put);
  return digest;
}

Result<std::string> ReadFrom(BlobStore& store, const Digest& digest,
                             int64_t offset, size_t piece) {
  const auto reader = store.Get({}, digest, offset);
  if (!reader) return reader.error();
  std::string text;
  std::vector<std::byte> buffer(piece);
  while (true) {
    const auto got = (*reader)->Read({}, buffer);
    if (!got) return got.error();
    if (*got == 0) return text;
    text.append(reinterpret_cast<const char*>(buffer.data()), *got);
  }
}

std::string MustRead(BlobStore& store, const Digest& digest) {
  const auto text = ReadFrom(store, digest);
  CASEMATE_CHECK(text);
  return *text;
}

bool Has(BlobStore& store, const Digest& digest) {
  const auto missing = store.FindMissing({}, std::span(&digest, 1));
  CASEMATE_CHECK(missing);
  return missing->empty();
}

std::string RandomText(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(size, '\0');
  for (char& each : text) each = static_cast<char>(random());
  return text;
}

std::string Zstd(const std::string& text) {
  codec::Encoder encoder(static_cast<int64_t>(text.size()));
  std::span<const std::byte> left = AsBytes(text);
  std::vector<std::byte> output(64 << 10);
  std::string encoded;
  while (!encoder.done()) {
    const codec::Step step = encoder.Encode(left, output, true).value();
    left = left.subspan(step.consumed);
    encoded.append(reinterpret_cast<const char*>(output.data()), step.produced);
  }
  return encoded;
}

Context Cancelled() {
  std::stop_source source;
  source.request_stop();
  Context ctx;
  ctx.stop = source.get_token();
  return ctx;
}

Result<std::unique_ptr<Reader>> TextSource::Open(const Context&,
                                                 int64_t offset) const {
  CASEMATE_CHECK(offset >= 0 && offset <= size());
  return std::make_unique<TextReader>(text_.substr(static_cast<size_t>(offset)),
                                      encoding_);
}

}  // namespace casemate::testing
