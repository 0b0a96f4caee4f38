#include "store/blob_files.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/try.h"
#include "digest/hasher.h"
#include "store/stored_readers.h"
#include "store/streams.h"

namespace casemate::store {
namespace {

using std::chrono::nanoseconds;

constexpr size_t kBufferBytes = 256 << 10;

// What is decoded on a thread that must not wait.
constexpr int64_t kDecodedAtOnce = 64 << 10;

// The clock of file times is about this coarse: a file that changed within it
// may change once more and look the same.
constexpr nanoseconds kTooFresh = std::chrono::milliseconds(20);

int64_t Now(const base::Clock& clock) {
  return nanoseconds(clock.WallNow().time_since_epoch()).count();
}

bool IsNotFound(const auto& result) {
  return !result && result.error().code == Code::kNotFound;
}

// nullopt if `frames` are not `size` bytes.
std::optional<Bytes> DecodeAll(std::span<const std::byte> frames,
                               int64_t size) {
  const auto room = static_cast<size_t>(size);
  auto owner = std::make_shared_for_overwrite<std::byte[]>(room);
  const std::span<std::byte> buffer(owner.get(), room);
  codec::Decoder decoder(size);
  size_t filled = 0;
  while (filled < room) {
    const auto step = decoder.Decode(frames, buffer.subspan(filled));
    if (!step || (step->consumed == 0 && step->produced == 0)) {
      return std::nullopt;
    }
    frames = frames.subspan(step->consumed);
    filled += step->produced;
  }
  return Bytes::Share(std::move(owner), buffer);
}

}  // namespace

BlobFiles::BlobFiles(const files::Root& root, const base::Clock& clock,
                     bool in_memory, Encoding usual,
                     std::function<void(int64_t)> on_removed)
    : root_(root),
      clock_(clock),
      in_memory_(in_memory),
      usual_(usual),
      on_removed_(std::move(on_removed)),
      may_hold_zstd_(usual == Encoding::kZstd) {}

Result<BlobFiles::Found> BlobFiles::Find(const Context& ctx,
                                         ShardCursor& cursor,
                                         const Digest& digest) {
  // The empty blob is no file; another digest of no bytes is no blob, even if
  // a file under its hash was cut to nothing.
  if (digest.size() == 0) return Absent(digest);
  const auto shard = cursor.Open(digest);
  if (IsNotFound(shard)) return Absent(digest);
  if (!shard) return shard.error();
  for (const Encoding form : Order()) {
    if (form == Encoding::kZstd &&
        (digest.size() <= kDiskBlock || !MayHoldZstd(cursor))) {
      continue;
    }
    auto found = FindForm(ctx, **shard, digest, form);
    if (!IsNotFound(found)) return found;
  }
  return Absent(digest);
}

std::array<Encoding, 2> BlobFiles::Order() const {
  return usual_ == Encoding::kZstd
             ? std::array{Encoding::kZstd, Encoding::kIdentity}
             : std::array{Encoding::kIdentity, Encoding::kZstd};
}

bool BlobFiles::MayHoldZstd(ShardCursor& cursor) {
  if (may_hold_zstd_.load(std::memory_order_relaxed)) return true;
  if (!cursor.MayHoldZstd()) return false;
  may_hold_zstd_ = true;
  return true;
}

Result<BlobFiles::Found> BlobFiles::FindForm(const Context& ctx,
                                             const files::Directory& shard,
                                             const Digest& digest,
                                             Encoding form) {
  Found found = {&shard, BlobPath(digest, form), form, {}};
  auto stat = shard.StatEntry(found.path.name());
  if (IsNotFound(stat)) return Absent(digest);
  if (!stat) return std::move(stat).error();
  found.stat = *stat;
  if (found.stat.kind != files::Kind::kRegular) return Absent(digest);
  // No frames at all are what power loss may leave.
  const bool right = form == Encoding::kIdentity
                         ? found.stat.size == digest.size()
                         : found.stat.size > 0;
  if (!right) {
    RETURN_IF_ERROR(Suspect(ctx, digest, found));
    return Absent(digest);
  }
  MarkUsed(digest, found);
  return found;
}

std::optional<Trusted> BlobFiles::HowTrusted(const Digest& digest,
                                             Encoding form,
                                             const files::Stat& stat) const {
  if (form == Encoding::kIdentity) {
    if (trust_.Contains(digest, stat)) return Trusted::kIdentity;
    return std::nullopt;
  }
  for (const Trusted as : {Trusted::kFrames, Trusted::kBlocks}) {
    if (trust_.Contains(digest, stat, as)) return as;
  }
  return std::nullopt;
}

Result<std::unique_ptr<Reader>> BlobFiles::Open(const Context& ctx,
                                                ShardCursor& cursor,
                                                const Digest& digest,
                                                int64_t offset, Accept accept) {
  ASSIGN_OR_RETURN(const Found found, Find(ctx, cursor, digest));
  ASSIGN_OR_RETURN(StoredFile stored, OpenFound(digest, found));
  if (found.form == Encoding::kZstd) {
    return OpenFrames(ctx, std::move(stored), offset, accept);
  }
  std::optional<Unchecked> unchecked;
  if (!HowTrusted(digest, found.form, stored.file.stat())) {
    if (offset == 0) {
      unchecked.emplace();
    } else {
      RETURN_IF_ERROR(Check(ctx, stored));
    }
  }
  return MakeStoredReader(*this, std::move(stored), offset, digest.size(),
                          std::move(unchecked));
}

Result<std::unique_ptr<Reader>> BlobFiles::OpenFrames(const Context& ctx,
                                                      StoredFile stored,
                                                      int64_t offset,
                                                      Accept accept) {
  const int64_t size = stored.digest.size();
  auto how = HowTrusted(stored.digest, stored.form, stored.file.stat());
  if (!how && offset > 0) {
    ASSIGN_OR_RETURN(how, Check(ctx, stored));
  }
  std::optional<Unchecked> unchecked;
  std::optional<BlockTable> table;
  if (!how || *how == Trusted::kBlocks) {
    ASSIGN_OR_RETURN(table, BlockTable::Find(stored.file, size));
  }
  const int64_t end = table ? table->begin() : stored.file.stat().size;
  if (!how) unchecked = Unchecked{table};
  if (offset == 0 && accept.zstd) {
    return MakeStoredReader(*this, std::move(stored), 0, end,
                            std::move(unchecked));
  }
  if (how && table) {
    return OpenBlocks(std::move(stored), *table, offset, accept);
  }
  return MakeDecodedReader(*this, std::move(stored),
                           {0, end, offset, size - offset},
                           std::move(unchecked));
}

Result<std::unique_ptr<Reader>> BlobFiles::OpenBlocks(StoredFile stored,
                                                      BlockTable& table,
                                                      int64_t offset,
                                                      Accept accept) {
  const int64_t size = stored.digest.size();
  const int64_t end = table.begin();
  const int64_t block = std::min(offset / kBlockBytes, BlockCount(size) - 1);
  const int64_t skip = offset - block * kBlockBytes;
  table.ReadFrom(stored.file);
  const auto position = table.Position(block);
  if (!position) return Conclude(stored, position.error()).error();
  if (!accept.zstd || offset == size) {
    return MakeDecodedReader(*this, std::move(stored),
                             {*position, end, skip, size - offset}, {});
  }
  if (skip == 0) {
    return MakeStoredReader(*this, std::move(stored), *position, end, {});
  }
  ASSIGN_OR_RETURN(const int64_t frame, table.Next());
  const int64_t length = std::min(kBlockBytes, size - block * kBlockBytes);
  ASSIGN_OR_RETURN(Bytes head,
                   EncodeRest(stored, *position, frame, length, skip));
  auto rest =
      MakeStoredReader(*this, std::move(stored), *position + frame, end, {});
  return MakeHeadedReader(std::move(head), std::move(rest));
}

// The last part of a block, behind `skip` bytes, as a frame of its own.
Result<Bytes> BlobFiles::EncodeRest(const StoredFile& stored, int64_t position,
                                    int64_t frame, int64_t length,
                                    int64_t skip) {
  std::vector<std::byte> buffer(
      static_cast<size_t>(std::min(frame, stored.file.stat().size - position)));
  ASSIGN_OR_RETURN(const size_t got, stored.file.ReadAt(position, buffer));
  if (got < buffer.size()) return Shrunk(stored);
  const auto bytes = DecodeAll(buffer, length);
  if (!bytes) return Damaged(stored, {Code::kDataLoss, "a block is damaged"});
  const auto rest = bytes->span().subspan(static_cast<size_t>(skip));
  const size_t bound = codec::EncodedBound(rest.size());
  auto owner = std::make_shared_for_overwrite<std::byte[]>(bound);
  const std::span<std::byte> output(owner.get(), bound);
  ASSIGN_OR_RETURN(const size_t size, codec::EncodeFrame(rest, output));
  return Bytes::Share(std::move(owner), output.first(size));
}

std::optional<Result<std::unique_ptr<Reader>>> BlobFiles::TryOpen(
    const Digest& digest, int64_t offset, Accept accept) {
  if (digest.size() == 0) return Absent(digest);
  bool absent = true;
  for (const Encoding form : Order()) {
    if (form == Encoding::kZstd && digest.size() <= kDiskBlock) continue;
    auto file = root_.TryOpenFile(BlobPath(digest, form).path());
    if (!file) absent = false;
    if (!file || !*file) continue;
    const files::Stat& stat = (*file)->stat();
    if (IsDue(stat, Now(clock_))) return std::nullopt;
    const auto how = HowTrusted(digest, form, stat);
    if (!how) return std::nullopt;
    StoredFile stored = {**std::move(file), digest, form};
    if (form == Encoding::kIdentity) {
      if (stored.file.stat().size != digest.size()) return std::nullopt;
      return MakeStoredReader(*this, std::move(stored), offset, digest.size(),
                              {});
    }
    return TryOpenFrames(std::move(stored), *how, offset, accept);
  }
  if (!absent) return std::nullopt;
  return Absent(digest);
}

std::optional<std::unique_ptr<Reader>> BlobFiles::TryOpenFrames(
    StoredFile stored, Trusted how, int64_t offset, Accept accept) {
  const int64_t size = stored.digest.size();
  int64_t end = stored.file.stat().size;
  if (how == Trusted::kBlocks) end -= BlockTableBytes(BlockCount(size));
  if (offset == 0 && accept.zstd) {
    return MakeStoredReader(*this, std::move(stored), 0, end, {});
  }
  if (size > kDecodedAtOnce) return std::nullopt;
  std::vector<std::byte> frames(static_cast<size_t>(end));
  if (ReadNow(stored.file, 0, frames) != frames.size()) return std::nullopt;
  auto bytes = DecodeAll(frames, size);
  if (!bytes) return std::nullopt;
  return MakeBytesReader(*std::move(bytes), static_cast<size_t>(offset));
}

std::optional<size_t> BlobFiles::ReadNow(const files::File& file,
                                         int64_t position,
                                         std::span<std::byte> buffer) const {
  if (!in_memory_) return file.ReadCached(position, buffer);
  const auto got = file.ReadAt(position, buffer);
  if (!got || *got == 0) return std::nullopt;
  return *got;
}

Result<Bytes> BlobFiles::ReadWhole(const Context& ctx, ShardCursor& cursor,
                                   const Digest& digest) {
  ASSIGN_OR_RETURN(const Found found, Find(ctx, cursor, digest));
  ASSIGN_OR_RETURN(StoredFile stored, OpenFound(digest, found));
  if (found.form == Encoding::kIdentity) return ReadIdentity(stored);
  ASSIGN_OR_RETURN(const auto reader,
                   OpenFrames(ctx, std::move(stored), 0, {}));
  return ReadAll(ctx, *reader, digest.size());
}

Result<Bytes> BlobFiles::ReadIdentity(const StoredFile& stored) {
  const Digest& digest = stored.digest;
  const auto size = static_cast<size_t>(digest.size());
  auto owner = std::make_shared_for_overwrite<std::byte[]>(size);
  const std::span<std::byte> buffer(owner.get(), size);
  ASSIGN_OR_RETURN(const size_t got, stored.file.ReadAt(0, buffer));
  if (got < size) return Shrunk(stored);
  if (!trust_.Contains(digest, stored.file.stat())) {
    const Digest actual = digest::Hash(digest.function(), buffer);
    RETURN_IF_ERROR(Conclude(
        stored, actual == digest
                    ? Result<Trusted>(Trusted::kIdentity)
                    : Result<Trusted>(digest::Mismatch(digest, actual))));
  }
  return Bytes::Share(std::move(owner), buffer);
}

Result<Trusted> BlobFiles::Check(const Context& ctx, const StoredFile& stored) {
  auto shown = stored.form == Encoding::kIdentity ? CheckIdentity(ctx, stored)
                                                  : CheckFrames(ctx, stored);
  RETURN_IF_ERROR(Conclude(stored, shown));
  return shown;
}

Result<Trusted> BlobFiles::CheckIdentity(const Context& ctx,
                                         const StoredFile& stored) {
  digest::Hasher hasher(stored.digest.function());
  std::vector<std::byte> buffer(kBufferBytes);
  while (true) {
    RETURN_IF_ERROR(ctx.Check());
    ASSIGN_OR_RETURN(const size_t got,
                     stored.file.ReadAt(hasher.size(), buffer));
    if (got == 0) break;
    hasher.Update(std::span(buffer).first(got));
  }
  const Digest expected(stored.digest.function(), stored.digest.hash(),
                        stored.file.stat().size);
  const Digest actual = hasher.Finish();
  if (actual != expected) return digest::Mismatch(expected, actual);
  return Trusted::kIdentity;
}

Result<Trusted> BlobFiles::CheckFrames(const Context& ctx,
                                       const StoredFile& stored) {
  ASSIGN_OR_RETURN(auto table,
                   BlockTable::Find(stored.file, stored.digest.size()));
  const int64_t end = table ? table->begin() : stored.file.stat().size;
  FrameCheck check(stored.digest, std::move(table), stored.file);
  std::vector<std::byte> buffer(kBufferBytes);
  for (int64_t position = 0; position < end;) {
    RETURN_IF_ERROR(ctx.Check());
    const auto room = std::span(buffer).first(
        static_cast<size_t>(std::min<int64_t>(end - position, kBufferBytes)));
    ASSIGN_OR_RETURN(const size_t got, stored.file.ReadAt(position, room));
    if (got == 0) break;
    RETURN_IF_ERROR(check.Pass(room.first(got)));
    position += static_cast<int64_t>(got);
  }
  return check.Finish();
}

Result<void> BlobFiles::Conclude(const StoredFile& stored,
                                 const Result<Trusted>& shown) {
  if (!shown && shown.error().code == Code::kDataLoss) {
    return Damaged(stored, shown.error());
  }
  if (!shown) return shown.error();  // It says nothing about the file.
  Trust(stored, *shown);
  return {};
}

Error BlobFiles::Shrunk(const StoredFile& stored) {
  return Damaged(stored,
                 {Code::kDataLoss, "blob " + stored.digest.ToString() +
                                       " was cut short while it was read"});
}

Error BlobFiles::Damaged(const StoredFile& stored, Error error) {
  const auto moved = MoveAside(stored);
  base::Log(base::LogLevel::kWarning,
            "store: blob " + stored.digest.Hex() + ": " + error.message +
                (moved ? "; moved aside" : "; " + moved.error().message));
  return Wrap(std::move(error), "read from the store");
}

Result<StoredFile> BlobFiles::OpenFound(const Digest& digest,
                                        const Found& found) {
  auto file = found.shard->OpenFile(found.path.name(), found.stat);
  // Removed or replaced since it was found: by gc, or because it was damaged.
  if (!file && (file.error().code == Code::kNotFound ||
                file.error().code == Code::kFailedPrecondition)) {
    return Absent(digest);
  }
  if (!file) return std::move(file).error();
  return StoredFile{*std::move(file), digest, found.form};
}

// A file of another size than asked for: damaged, or the digest is one that
// does not exist. Without the first it would stay damaged for ever; without the
// second anybody could have good blobs moved aside.
Result<void> BlobFiles::Suspect(const Context& ctx, const Digest& digest,
                                const Found& found) {
  ASSIGN_OR_RETURN(const StoredFile stored, OpenFound(digest, found));
  if (HowTrusted(digest, found.form, stored.file.stat())) return {};
  RETURN_IF_ERROR(Check(ctx, stored));
  return {};
}

bool BlobFiles::IsDue(const files::Stat& stat, int64_t now) const {
  return now - std::max(stat.atime, stat.mtime) > kMarkAfter.count();
}

// Setting atime changes ctime, and trust is tied to that: it moves along.
void BlobFiles::MarkUsed(const Digest& digest, Found& found) {
  const int64_t now = Now(clock_);
  if (!IsDue(found.stat, now)) return;
  // Where that is not allowed, it is not our store to keep.
  const std::string_view name = found.path.name();
  if (!found.shard->SetEntryAccessed(name, now)) return;
  const auto after = found.shard->StatEntry(name);
  if (!after || !files::SameFile(*after, found.stat) ||
      after->size != found.stat.size || after->mtime != found.stat.mtime) {
    return;
  }
  const auto how = HowTrusted(digest, found.form, found.stat);
  if (how) trust_.Add(digest, *after, *how);
  found.stat.atime = after->atime;
}

void BlobFiles::Trust(const StoredFile& stored, Trusted as) {
  const auto now = stored.file.Restat();
  if (!now || !files::Unchanged(*now, stored.file.stat())) return;
  const int64_t age = Now(clock_) - std::max(now->mtime, now->ctime);
  if (age > kTooFresh.count()) trust_.Add(stored.digest, *now, as);
}

Result<void> BlobFiles::MoveAside(const StoredFile& damaged) {
  ShardCursor cursor(root_);
  ASSIGN_OR_RETURN(const files::Directory* const shard,
                   cursor.Open(damaged.digest));
  ASSIGN_OR_RETURN(const files::Directory aside, root_.OpenDirectory(kDamaged));
  const BlobPath path(damaged.digest, damaged.form);
  const std::string_view name = path.name();
  const auto there = shard->StatEntry(name);
  const files::Stat& stat = damaged.file.stat();
  if (!there || !files::SameFile(*there, stat)) return {};  // Healed.
  const std::string target = DamagedName(damaged.digest, damaged.form);
  RETURN_IF_ERROR(shard->Rename(name, aside, target, files::Replace::kYes));
  const auto moved = aside.StatEntry(target);
  if (moved && !files::SameFile(*moved, stat)) {
    // Healed between the two calls: that one was good.
    return aside.Rename(target, *shard, name, files::Replace::kNo);
  }
  on_removed_(stat.size);
  return {};
}

}  // namespace casemate::store
