#include "store/memory_store.h"

#include <string>
#include <unordered_set>
#include <utility>

#include "base/try.h"
#include "casemate/stores.h"
#include "digest/hasher.h"
#include "store/streams.h"

namespace casemate {

std::unique_ptr<BlobStore> MakeMemoryStore(int64_t max_bytes) {
  return std::make_unique<store::MemoryStore>(max_bytes);
}

namespace store {
namespace {

constexpr PartialWriteLimits kPartialWriteLimits = {.bytes = 64 << 20};

}  // namespace

class MemoryStore::Unfinished : public store::Unfinished {
 public:
  Unfinished(MemoryStore& store, const Digest& digest)
      : store_(store), digest_(digest) {}

  ~Unfinished() override { store_.Release(reserved_); }

  Result<void> Append(const Context&,
                      std::span<const std::byte> data) override {
    const auto size = static_cast<int64_t>(data.size());
    RETURN_IF_ERROR(store_.Reserve(digest_, size));
    reserved_ += size;
    MakeRoom(text_.size() + data.size());
    text_.append(reinterpret_cast<const char*>(data.data()), data.size());
    return {};
  }

  Result<void> Publish(const Context&) override {
    reserved_ = 0;
    store_.KeepReserved(digest_, Bytes::FromString(std::move(text_)));
    return {};
  }

 private:
  // Grows with what arrives, but in large steps: each copies all there is.
  void MakeRoom(size_t needed) {
    if (needed <= text_.capacity()) return;
    const auto all = static_cast<size_t>(digest_.size());
    text_.reserve(all / 4 <= needed ? all : 4 * needed);
  }

  MemoryStore& store_;
  const Digest digest_;
  std::string text_;
  int64_t reserved_ = 0;  // Its size, until it is published.
};

MemoryStore::MemoryStore(int64_t max_bytes)
    : max_bytes_(max_bytes), partial_writes_(kPartialWriteLimits) {}

MemoryStore::~MemoryStore() = default;

Result<std::vector<Digest>> MemoryStore::FindMissing(
    const Context& ctx, std::span<const Digest> digests) {
  RETURN_IF_ERROR(ctx.Check());
  std::vector<Digest> missing;
  std::unordered_set<Digest> seen;
  for (const Digest& digest : digests) {
    if (!Has(digest) && seen.insert(digest).second) missing.push_back(digest);
  }
  return missing;
}

Result<std::unique_ptr<Reader>> MemoryStore::Get(const Context& ctx,
                                                 const Digest& digest,
                                                 int64_t offset) {
  RETURN_IF_ERROR(ctx.Check());
  ASSIGN_OR_RETURN(Bytes bytes, Find(digest));
  RETURN_IF_ERROR(CheckOffset(digest, offset));
  return MakeBytesReader(std::move(bytes), static_cast<size_t>(offset));
}

Result<void> MemoryStore::Put(const Context& ctx, const Digest& digest,
                              const Source& source) {
  if (Has(digest)) return {};
  RETURN_IF_ERROR(CheckRoom(digest));
  ASSIGN_OR_RETURN(const auto reader, OpenIdentity(ctx, source, digest.size()));
  ASSIGN_OR_RETURN(Bytes bytes, ReadAll(ctx, *reader, digest.size()));
  RETURN_IF_ERROR(Blob::Claimed(digest, bytes).Verify());
  return Keep(digest, std::move(bytes));
}

Result<std::unique_ptr<Writer>> MemoryStore::StartWrite(const Context& ctx,
                                                        const Digest& digest,
                                                        std::string_view id,
                                                        Encoding encoding) {
  RETURN_IF_ERROR(CheckRoom(digest));
  return partial_writes_.Start(
      ctx, digest, id, encoding,
      [&]() -> Result<std::unique_ptr<store::Unfinished>> {
        return std::make_unique<Unfinished>(*this, digest);
      });
}

std::vector<Result<Blob>> MemoryStore::GetMany(
    const Context& ctx, std::span<const Digest> digests) {
  std::vector<Result<Blob>> blobs;
  blobs.reserve(digests.size());
  const auto live = ctx.Check();
  for (const Digest& digest : digests) {
    auto bytes = live ? Find(digest) : Result<Bytes>(live.error());
    blobs.push_back(bytes ? Blob::Verified(digest, *std::move(bytes))
                          : Result<Blob>(bytes.error()));
  }
  return blobs;
}

std::optional<Result<std::unique_ptr<Reader>>> MemoryStore::TryGet(
    const Digest& digest, int64_t offset, Accept) {
  return Get({}, digest, offset);
}

std::vector<Result<void>> MemoryStore::PutMany(const Context& ctx,
                                               std::span<const Blob> blobs) {
  std::vector<Result<void>> results;
  results.reserve(blobs.size());
  for (const Blob& blob : blobs) {
    auto result = ctx.Check();
    if (result) result = blob.Verify();
    if (result) result = Keep(blob.digest(), blob.bytes());
    results.push_back(std::move(result));
  }
  return results;
}

MemoryStore::Shard& MemoryStore::ShardOf(const Digest& digest) {
  // Not the bytes that std::hash takes: within a shard those must still differ.
  const auto last = std::to_integer<size_t>(digest.hash().back());
  return shards_[last % kShards];
}

bool MemoryStore::Has(const Digest& digest) {
  if (digest::IsEmpty(digest)) return true;
  Shard& shard = ShardOf(digest);
  base::MutexLock lock(shard.mutex);
  return shard.blobs.contains(digest);
}

Result<Bytes> MemoryStore::Find(const Digest& digest) {
  if (digest::IsEmpty(digest)) return Bytes();
  Shard& shard = ShardOf(digest);
  base::MutexLock lock(shard.mutex);
  const auto found = shard.blobs.find(digest);
  if (found == shard.blobs.end()) return Absent(digest);
  return found->second;
}

Error MemoryStore::Full(const Digest& digest) const {
  return {Code::kResourceExhausted, "store blob " + digest.ToString() +
                                        " in memory: the store is limited to " +
                                        std::to_string(max_bytes_) + " bytes"};
}

Result<void> MemoryStore::CheckRoom(const Digest& digest) const {
  if (digest.size() <= max_bytes_ - bytes_.load()) return {};
  return Full(digest);
}

// Taken before it is checked, so that two threads cannot both fit.
Result<void> MemoryStore::Reserve(const Digest& digest, int64_t size) {
  if (bytes_.fetch_add(size) <= max_bytes_ - size) return {};
  Release(size);
  return Full(digest);
}

Result<void> MemoryStore::Keep(const Digest& digest, Bytes bytes) {
  if (Has(digest)) return {};
  RETURN_IF_ERROR(Reserve(digest, digest.size()));
  KeepReserved(digest, std::move(bytes));
  return {};
}

void MemoryStore::KeepReserved(const Digest& digest, Bytes bytes) {
  Shard& shard = ShardOf(digest);
  base::MutexLock lock(shard.mutex);
  const bool added = shard.blobs.try_emplace(digest, std::move(bytes)).second;
  if (!added) Release(digest.size());
}

}  // namespace store
}  // namespace casemate
