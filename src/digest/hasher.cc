#include "digest/hasher.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace casemate::digest {
namespace {

// Fetching an algorithm costs more than hashing a small blob: once a process.
const EVP_MD* Algorithm(DigestFunction function) {
  static const EVP_MD* const sha1 = EVP_MD_fetch(nullptr, "SHA1", nullptr);
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  static const EVP_MD* const sha384 = EVP_MD_fetch(nullptr, "SHA384", nullptr);
  static const EVP_MD* const sha512 = EVP_MD_fetch(nullptr, "SHA512", nullptr);
  switch (function) {
    case DigestFunction::kSha1: return sha1;
    case DigestFunction::kSha256: return sha256;
    case DigestFunction::kSha384: return sha384;
    case DigestFunction::kSha512: return sha512;
  }
  return nullptr;
}

EVP_MD_CTX* Get(void* context) { return static_cast<EVP_MD_CTX*>(context); }

}  // namespace

void Hasher::Free::operator()(void* context) const {
  EVP_MD_CTX_free(Get(context));
}

Hasher::Hasher(DigestFunction function)
    : function_(function), context_(EVP_MD_CTX_new()) {
  CASEMATE_CHECK(context_ != nullptr && Algorithm(function) != nullptr);
}

Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::Update(std::span<const std::byte> data) {
  if (!started_) {
    // A null type keeps the context's own algorithm, without set-up.
    const EVP_MD* const type =
        EVP_MD_CTX_get0_md(Get(context_.get())) == nullptr
            ? Algorithm(function_)
            : nullptr;
    CASEMATE_CHECK(EVP_DigestInit_ex2(Get(context_.get()), type, nullptr) == 1);
    started_ = true;
  }
  CASEMATE_CHECK(
      EVP_DigestUpdate(Get(context_.get()), data.data(), data.size()) == 1);
  size_ += static_cast<int64_t>(data.size());
}

Digest Hasher::Finish() {
  if (!started_) Update({});
  std::array<std::byte, Digest::kMaxHashSize> hash;
  unsigned length = 0;
  CASEMATE_CHECK(
      EVP_DigestFinal_ex(Get(context_.get()),
                         reinterpret_cast<unsigned char*>(hash.data()),
                         &length) == 1);
  CASEMATE_CHECK(length == HashSize(function_));
  const Digest digest(function_, std::span(hash).first(length), size_);
  Reset();
  return digest;
}

void Hasher::Reset() {
  started_ = false;
  size_ = 0;
}

Digest Hash(DigestFunction function, std::span<const std::byte> data) {
  thread_local std::array<std::unique_ptr<Hasher>, 8> hashers;
  auto& hasher = hashers[static_cast<size_t>(function)];
  if (!hasher) hasher = std::make_unique<Hasher>(function);
  hasher->Update(data);
  return hasher->Finish();
}

const Digest& EmptyDigest(DigestFunction function) {
  static const std::array<Digest, 8> digests = [] {
    std::array<Digest, 8> made;
    for (const DigestFunction each : kDigestFunctions) {
      made[static_cast<size_t>(each)] = Hash(each, {});
    }
    return made;
  }();
  return digests[static_cast<size_t>(function)];
}

Error Mismatch(const Digest& expected, const Digest& actual) {
  return {Code::kDataLoss, "the bytes do not match the digest: expected " +
                               expected.ToString() + ", got " +
                               actual.ToString()};
}

}  // namespace casemate::digest
