#include "actions/disk_action_cache.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "actions/entry_file.h"
#include "base/try.h"
#include "store/disk_layout.h"

namespace casemate::actions {
namespace {

using std::chrono::nanoseconds;

// An entry that was used within this time is not marked as used again, as with
// blobs.
constexpr nanoseconds kMarkAfter = std::chrono::hours(1);
constexpr uint32_t kFolderMode = 0777;  // Less the umask.

// How often a lookup begins anew when each time an update replaces the entry
// under its hands.
constexpr int kAttempts = 100;

Error Absent(const ActionKey& key) {
  return {Code::kNotFound, "no result of action " + key.action.ToString()};
}

Result<Bytes> ReadAll(const files::File& file) {
  const auto size = static_cast<size_t>(file.stat().size);
  auto owner = std::make_shared_for_overwrite<std::byte[]>(size);
  const std::span<std::byte> buffer(owner.get(), size);
  ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, buffer));
  return Bytes::Share(std::move(owner), buffer.first(got));
}

}  // namespace

Result<std::unique_ptr<ActionCache>> OpenDiskActionCache(
    const std::string& folder, bool durable) {
  return DiskActionCache::Open(folder, durable, base::SystemClock());
}

Result<std::unique_ptr<ActionCache>> DiskActionCache::Open(
    const std::string& folder, bool durable, const base::Clock& clock) {
  ASSIGN_OR_RETURN(files::Root root, files::Root::Open(folder));
  if (!root.StatPath(store::kVersionFile)) {
    return Error{Code::kFailedPrecondition,
                 "open action cache " + folder + ": it is not a store"};
  }
  ASSIGN_OR_RETURN(files::Directory top, root.OpenDirectory(""));
  return std::make_unique<DiskActionCache>(std::move(root), std::move(top),
                                           durable, clock);
}

DiskActionCache::DiskActionCache(files::Root root, files::Directory top,
                                 bool durable, const base::Clock& clock)
    : root_(std::move(root)),
      top_(std::move(top)),
      durable_(durable),
      clock_(clock),
      temp_(store::TempFolder::Make(root_)),
      syncs_({}, [this](std::span<Result<void>* const> waiting) {
        auto synced = top_.SyncFilesystem();
        if (!synced) synced = store::WriteError(std::move(synced).error());
        for (Result<void>* const each : waiting) *each = synced;
      }) {}

Result<Bytes> DiskActionCache::Get(const Context& ctx, const ActionKey& key) {
  for (int attempt = 1;; ++attempt) {
    RETURN_IF_ERROR(ctx.Check());
    auto result = Read(key);
    // Replaced between looking and opening. (Removed looks the same.)
    if (!result && result.error().code == Code::kFailedPrecondition &&
        attempt < kAttempts) {
      continue;
    }
    if (!result && result.error().code != Code::kNotFound) {
      return Wrap(std::move(result).error(), "look up an action");
    }
    return result;
  }
}

Result<void> DiskActionCache::Update(const Context& ctx, const ActionKey& key,
                                     const Bytes& result) {
  RETURN_IF_ERROR(ctx.Check());
  ASSIGN_OR_RETURN(store::TempFile temp, WriteTemp(key, result));
  RETURN_IF_ERROR(Sync(ctx));
  if (auto named = Publish(key, std::move(temp)); !named) {
    return store::WriteError(std::move(named).error());
  }
  return Sync({});  // It is visible: too late to be cancelled.
}

// kFailedPrecondition if the entry was replaced meanwhile.
Result<Bytes> DiskActionCache::Read(const ActionKey& key) {
  const auto folder = root_.OpenDirectory(EntryFolder(key));
  if (!folder && folder.error().code == Code::kNotFound) return Absent(key);
  if (!folder) return folder.error();
  const std::string name = EntryName(key);
  const auto stat = folder->StatEntry(name);
  if (!stat && stat.error().code == Code::kNotFound) return Absent(key);
  if (!stat) return stat.error();
  if (stat->kind != files::Kind::kRegular || stat->size > kMaxEntryBytes) {
    return Absent(key);
  }
  const auto file = folder->OpenFile(name, *stat);
  if (!file && file.error().code == Code::kNotFound) return Absent(key);
  if (!file) return file.error();
  ASSIGN_OR_RETURN(const Bytes bytes, ReadAll(*file));
  auto result = ParseEntry(key, bytes);
  if (!result) return Absent(key);
  MarkUsed(*folder, name, *stat);
  return *std::move(result);
}

// Where that is not allowed, it is not our store to keep.
void DiskActionCache::MarkUsed(const files::Directory& folder,
                               const std::string& name,
                               const files::Stat& stat) {
  const int64_t now = nanoseconds(clock_.WallNow().time_since_epoch()).count();
  if (now - std::max(stat.atime, stat.mtime) <= kMarkAfter.count()) return;
  (void)folder.SetEntryAccessed(name, now);
}

Result<store::TempFile> DiskActionCache::WriteTemp(const ActionKey& key,
                                                   const Bytes& result) {
  const std::string head = EntryHead(key, result);
  if (static_cast<int64_t>(head.size() + result.size()) > kMaxEntryBytes) {
    return Error{Code::kResourceExhausted, "the result of action " +
                                               key.action.ToString() +
                                               " is too large to be kept"};
  }
  if (!temp_) return store::WriteError(temp_.error());
  ASSIGN_OR_RETURN(store::TempFile temp, (*temp_)->Create());
  auto written = temp.file().Write(AsBytes(head));
  if (written) written = temp.file().Write(result.span());
  if (written) written = temp.Close();
  if (!written) return store::WriteError(std::move(written).error());
  return temp;
}

Result<void> DiskActionCache::Publish(const ActionKey& key,
                                      store::TempFile temp) {
  const std::string path = EntryFolder(key);
  auto folder = root_.OpenDirectory(path);
  if (!folder && folder.error().code == Code::kNotFound) {
    RETURN_IF_ERROR(root_.MakeDirectories(path, kFolderMode));
    folder = root_.OpenDirectory(path);
  }
  if (!folder) return std::move(folder).error();
  return temp.Publish(*folder, EntryName(key), files::Replace::kYes);
}

Result<void> DiskActionCache::Sync(const Context& ctx) {
  if (!durable_) return ctx.Check();
  Result<void> result;
  RETURN_IF_ERROR(syncs_.Run(ctx, result));
  return result;
}

}  // namespace casemate::actions
