#include "store/blob_files.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/try.h"
#include "digest/hasher.h"
#include "store/streams.h"

namespace casemate::store {
namespace {

using std::chrono::nanoseconds;

constexpr size_t kBufferBytes = 256 << 10;

// The clock of file times is about this coarse: a file that changed within it
// may change once more and look the same.
constexpr nanoseconds kTooFresh = std::chrono::milliseconds(20);

int64_t Nanoseconds(std::chrono::system_clock::time_point time) {
  return nanoseconds(time.time_since_epoch()).count();
}

// Reads a file of the right size, from `position`. With a hasher it checks the
// blob before it hands out the last bytes.
class FileReader : public Reader {
 public:
  FileReader(BlobFiles& files, files::File file, const Digest& digest,
             int64_t position, bool check)
      : files_(files),
        file_(std::move(file)),
        digest_(digest),
        position_(position) {
    if (check) hasher_.emplace(digest.function());
  }

  Result<size_t> Read(const Context& ctx,
                      std::span<std::byte> buffer) override {
    RETURN_IF_ERROR(ctx.Check());
    const int64_t left = digest_.size() - position_;
    if (left == 0) return size_t{0};
    if (static_cast<uint64_t>(left) < buffer.size()) {
      buffer = buffer.first(static_cast<size_t>(left));
    }
    ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(position_, buffer));
    if (got == 0) return files_.Shrunk(file_, digest_);
    position_ += static_cast<int64_t>(got);
    if (hasher_) RETURN_IF_ERROR(Hash(buffer.first(got)));
    return got;
  }

 private:
  Result<void> Hash(std::span<const std::byte> data) {
    hasher_->Update(data);
    if (position_ < digest_.size()) return {};
    return files_.Conclude(file_, digest_, hasher_->Finish());
  }

  BlobFiles& files_;
  const files::File file_;
  const Digest digest_;
  int64_t position_;
  std::optional<digest::Hasher> hasher_;
};

}  // namespace

BlobFiles::BlobFiles(const files::Root& root, const base::Clock& clock,
                     std::function<void(int64_t)> on_removed)
    : root_(root), clock_(clock), on_removed_(std::move(on_removed)) {}

Result<BlobFiles::Found> BlobFiles::Find(const Context& ctx,
                                         ShardCursor& cursor,
                                         const Digest& digest) {
  // The empty blob is no file; another digest of no bytes is no blob, even if
  // a file under its hash was cut to nothing.
  if (digest.size() == 0) return Absent(digest);
  auto shard = cursor.Open(digest);
  if (!shard && shard.error().code == Code::kNotFound) return Absent(digest);
  if (!shard) return std::move(shard).error();
  Found found = {*shard, FileName(digest), {}};
  auto stat = (*shard)->StatEntry(found.name);
  if (!stat && stat.error().code == Code::kNotFound) return Absent(digest);
  if (!stat) return std::move(stat).error();
  found.stat = *stat;
  if (found.stat.kind != files::Kind::kRegular) return Absent(digest);
  if (found.stat.size != digest.size()) {
    RETURN_IF_ERROR(Suspect(ctx, digest, found));
    return Absent(digest);
  }
  MarkUsed(digest, found);
  return found;
}

Result<std::unique_ptr<Reader>> BlobFiles::Open(const Context& ctx,
                                                const Digest& digest,
                                                int64_t offset) {
  ShardCursor cursor(root_);
  ASSIGN_OR_RETURN(const Found found, Find(ctx, cursor, digest));
  ASSIGN_OR_RETURN(files::File file, OpenFound(digest, found));
  bool check = !trust_.Contains(digest, file.stat());
  if (check && offset > 0) {
    RETURN_IF_ERROR(Check(ctx, file, digest));
    check = false;
  }
  return std::make_unique<FileReader>(*this, std::move(file), digest, offset,
                                      check);
}

Result<Bytes> BlobFiles::ReadWhole(const Context& ctx, ShardCursor& cursor,
                                   const Digest& digest) {
  ASSIGN_OR_RETURN(const Found found, Find(ctx, cursor, digest));
  ASSIGN_OR_RETURN(const files::File file, OpenFound(digest, found));
  const auto size = static_cast<size_t>(digest.size());
  auto owner = std::make_shared_for_overwrite<std::byte[]>(size);
  const std::span<std::byte> buffer(owner.get(), size);
  ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, buffer));
  if (got < size) return Shrunk(file, digest);
  if (!trust_.Contains(digest, file.stat())) {
    RETURN_IF_ERROR(
        Conclude(file, digest, digest::Hash(digest.function(), buffer)));
  }
  return Bytes::Share(std::move(owner), buffer);
}

Result<void> BlobFiles::Check(const Context& ctx, const files::File& file,
                              const Digest& digest) {
  digest::Hasher hasher(digest.function());
  std::vector<std::byte> buffer(kBufferBytes);
  file.Prefetch(0, file.stat().size);
  while (true) {
    RETURN_IF_ERROR(ctx.Check());
    ASSIGN_OR_RETURN(const size_t got, file.ReadAt(hasher.size(), buffer));
    if (got == 0) break;
    hasher.Update(std::span(buffer).first(got));
  }
  const Digest expected(digest.function(), digest.hash(), file.stat().size);
  return Conclude(file, expected, hasher.Finish());
}

Result<void> BlobFiles::Conclude(const files::File& file, const Digest& digest,
                                 const Digest& actual) {
  if (actual == digest) {
    Trust(file, digest);
    return {};
  }
  return Damaged(file, digest, digest::Mismatch(digest, actual));
}

Error BlobFiles::Shrunk(const files::File& file, const Digest& digest) {
  return Damaged(file, digest,
                 {Code::kDataLoss, "blob " + digest.ToString() +
                                       " was cut short while it was read"});
}

Error BlobFiles::Damaged(const files::File& file, const Digest& digest,
                         Error error) {
  const auto moved = MoveAside(file.stat(), digest);
  base::Log(base::LogLevel::kWarning,
            "store: blob " + digest.Hex() + ": " + error.message +
                (moved ? "; moved aside" : "; " + moved.error().message));
  return Wrap(std::move(error), "read from the store");
}

Result<files::File> BlobFiles::OpenFound(const Digest& digest,
                                         const Found& found) {
  auto file = found.shard->OpenFile(found.name, found.stat);
  // Removed or replaced since it was found: by gc, or because it was damaged.
  if (!file && (file.error().code == Code::kNotFound ||
                file.error().code == Code::kFailedPrecondition)) {
    return Absent(digest);
  }
  return file;
}

// A file of another size than asked for: damaged, or the digest is one that
// does not exist. Without the first it would stay damaged for ever; without the
// second anybody could have good blobs moved aside.
Result<void> BlobFiles::Suspect(const Context& ctx, const Digest& digest,
                                const Found& found) {
  auto file = OpenFound(digest, found);
  if (!file) return std::move(file).error();
  if (trust_.Contains(digest, file->stat())) return {};
  return Check(ctx, *file, digest);
}

// Setting atime changes ctime, and trust is tied to that: it moves along.
void BlobFiles::MarkUsed(const Digest& digest, Found& found) {
  const int64_t now = Nanoseconds(clock_.WallNow());
  const int64_t used = std::max(found.stat.atime, found.stat.mtime);
  if (now - used <= kMarkAfter.count()) return;
  // Where that is not allowed, it is not our store to keep.
  if (!found.shard->SetEntryAccessed(found.name, now)) return;
  const auto after = found.shard->StatEntry(found.name);
  if (!after || !files::SameFile(*after, found.stat) ||
      after->size != found.stat.size || after->mtime != found.stat.mtime) {
    return;
  }
  if (trust_.Contains(digest, found.stat)) trust_.Add(digest, *after);
  found.stat.atime = after->atime;
}

void BlobFiles::Trust(const files::File& file, const Digest& digest) {
  const auto now = file.Restat();
  if (!now || !files::Unchanged(*now, file.stat())) return;
  const int64_t age =
      Nanoseconds(clock_.WallNow()) - std::max(now->mtime, now->ctime);
  if (age > kTooFresh.count()) trust_.Add(digest, *now);
}

Result<void> BlobFiles::MoveAside(const files::Stat& damaged,
                                  const Digest& digest) {
  ShardCursor cursor(root_);
  ASSIGN_OR_RETURN(const files::Directory* const shard, cursor.Open(digest));
  ASSIGN_OR_RETURN(const files::Directory aside, root_.OpenDirectory(kDamaged));
  const std::string name = FileName(digest);
  const auto there = shard->StatEntry(name);
  if (!there || !files::SameFile(*there, damaged)) return {};  // Healed.
  const std::string target = DamagedName(digest);
  RETURN_IF_ERROR(shard->Rename(name, aside, target, files::Replace::kYes));
  const auto moved = aside.StatEntry(target);
  if (moved && !files::SameFile(*moved, damaged)) {
    // Healed between the two calls: that one was good.
    return aside.Rename(target, *shard, name, files::Replace::kNo);
  }
  on_removed_(damaged.size);
  return {};
}

}  // namespace casemate::store
