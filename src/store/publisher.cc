#include "store/publisher.h"

#include <algorithm>
#include <utility>

#include "base/try.h"

namespace casemate::store {
namespace {

using std::chrono::nanoseconds;

// By then the kernel has written everything by itself (it waits 30 s at most).
constexpr nanoseconds kSurelyWritten = std::chrono::minutes(1);

// How far the clock of file times may lag behind ours.
constexpr nanoseconds kClockLag = std::chrono::milliseconds(20);

int64_t Now(const base::Clock& clock) {
  return nanoseconds(clock.WallNow().time_since_epoch()).count();
}

void FailAll(std::span<Finished> blobs, const Error& error) {
  for (Finished& blob : blobs) {
    if (blob.result) blob.result = error;
  }
}

std::vector<Finished*> InDiskOrder(std::span<Finished> blobs) {
  std::vector<Finished*> order;
  order.reserve(blobs.size());
  for (Finished& blob : blobs) order.push_back(&blob);
  std::ranges::sort(order, [](const Finished* a, const Finished* b) {
    return LiesBefore(a->digest, b->digest);
  });
  return order;
}

// Whether a file can be the blob, as far as its size tells.
bool Fits(const files::Stat& stat, const Digest& digest, Encoding form) {
  if (stat.kind != files::Kind::kRegular) return false;
  return form == Encoding::kIdentity ? stat.size == digest.size()
                                     : stat.size > 0;
}

}  // namespace

Result<void> Finished::Close() {
  size = file.file().size();
  return file.Close();
}

Publisher::Publisher(const files::Root& root, const files::Directory& top,
                     bool durable, bool both_forms, const base::Clock& clock,
                     UsageFile& usage)
    : root_(root),
      top_(top),
      durable_(durable),
      both_forms_(both_forms),
      clock_(clock),
      usage_(usage),
      syncs_({}, [this](std::span<Result<void>* const> waiting) {
        const Result<void> synced = SyncNow();
        for (Result<void>* const each : waiting) *each = synced;
      }) {}

void Publisher::Publish(const Context& ctx, std::span<Finished> blobs) {
  if (blobs.empty()) return;
  if (auto synced = Sync(ctx); !synced) return FailAll(blobs, synced.error());
  ShardCursor cursor(root_);
  for (Finished* const blob : InDiskOrder(blobs)) {
    blob->result = Rename(cursor, *blob);
    if (!blob->result) blob->result = WriteError(blob->result.error());
  }
  if (auto synced = Sync({}); !synced) FailAll(blobs, synced.error());
}

Result<void> Publisher::Secure(const Context& ctx, int64_t ctime) {
  const int64_t recent = Now(clock_) - kSurelyWritten.count();
  if (ctime <= std::max(recent, secure_until_.load())) return {};
  return Sync(ctx);
}

Result<void> Publisher::Sync(const Context& ctx) {
  if (!durable_) return ctx.Check();
  Result<void> result;
  RETURN_IF_ERROR(syncs_.Run(ctx, result));
  return result;
}

Result<void> Publisher::SyncNow() {
  const int64_t start = Now(clock_) - kClockLag.count();
  auto synced = top_.SyncFilesystem();
  if (!synced) return WriteError(std::move(synced).error());
  secure_until_ = start;  // One sync at a time: this never goes back.
  return {};
}

Result<void> Publisher::Rename(ShardCursor& cursor, Finished& blob) {
  ASSIGN_OR_RETURN(const files::Directory* const shard,
                   cursor.Make(blob.digest));
  if (HasOtherForm(*shard, blob)) return {};
  const BlobPath path(blob.digest, blob.form);
  const std::string name(path.name());
  auto published = blob.file.Publish(*shard, name, files::Replace::kNo);
  if (!published && published.error().code == Code::kAlreadyExists) {
    ASSIGN_OR_RETURN(const files::Stat there, shard->StatEntry(name));
    if (Fits(there, blob.digest, blob.form)) return {};
    published = blob.file.Publish(*shard, name, files::Replace::kYes);
    if (published) usage_.Add({-there.size, -1});
  }
  RETURN_IF_ERROR(std::move(published));
  usage_.Add({blob.size, 1});
  return {};
}

bool Publisher::HasOtherForm(const files::Directory& shard,
                             const Finished& blob) const {
  if (!both_forms_ || blob.digest.size() <= kDiskBlock) return false;
  const Encoding other =
      blob.form == Encoding::kIdentity ? Encoding::kZstd : Encoding::kIdentity;
  const auto there = shard.StatEntry(BlobPath(blob.digest, other).name());
  return there && Fits(*there, blob.digest, other);
}

}  // namespace casemate::store
