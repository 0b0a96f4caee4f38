// Putting and reading blobs in a word, for tests of stores and of their users.
#pragma once

#include <string>

#include "casemate/blob_store.h"

namespace casemate::testing {

// SHA-256 unless told otherwise.
Digest DigestOf(const std::string& text,
                DigestFunction function = DigestFunction::kSha256);
Blob BlobOf(const std::string& text);

// Aborts if the store will not take it.
Digest MustPut(BlobStore& store, const std::string& text);

// All of a blob, in pieces of at most `piece` bytes.
Result<std::string> ReadFrom(BlobStore& store, const Digest& digest,
                             int64_t offset = 0, size_t piece = 64 << 10);
std::string MustRead(BlobStore& store, const Digest& digest);

bool Has(BlobStore& store, const Digest& digest);

// Bytes that neither repeat nor compress; the same for the same arguments.
std::string RandomText(size_t size, unsigned seed = 1);

// One zstd frame.
std::string Zstd(const std::string& text);

// A context whose stop has been requested.
Context Cancelled();

// Yields `text`, as it is, named as in `encoding`. Its size() is that of
// `text`.
class TextSource : public Source {
 public:
  explicit TextSource(std::string text, Encoding encoding = Encoding::kIdentity)
      : text_(std::move(text)), encoding_(encoding) {}

  int64_t size() const override { return static_cast<int64_t>(text_.size()); }
  Result<std::unique_ptr<Reader>> Open(const Context& ctx,
                                       int64_t offset) const override;

 private:
  const std::string text_;
  const Encoding encoding_;
};

}  // namespace casemate::testing
