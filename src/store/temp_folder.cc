#include "store/temp_folder.h"

#include <utility>

#include "base/try.h"
#include "files/atomic_file.h"
#include "store/disk_layout.h"
#include "store/file_lock.h"

namespace casemate::store {
namespace {

constexpr uint32_t kFolderMode = 0777;  // Both less the umask.
constexpr uint32_t kBlobMode = 0444;

// Whether `name` still stands for `held`, which is now locked.
bool StillThere(const files::Directory& parent, const std::string& name,
                const files::Directory& held) {
  const auto there = parent.StatEntry(name);
  const auto self = held.StatSelf();
  return there && self && files::SameFile(*there, *self);
}

Result<void> RemoveIfDead(const Context& ctx, const files::Directory& parent,
                          const std::string& name) {
  const auto folder = parent.OpenDirectory(name);
  if (!folder) return {};  // Gone meanwhile, or none of ours.
  ASSIGN_OR_RETURN(const bool dead,
                   TryLock(folder->descriptor(), LockMode::kExclusive));
  if (!dead || !StillThere(parent, name, *folder)) return {};
  return parent.RemoveTree(ctx, name);
}

}  // namespace

Error WriteError(Error error) {
  if (error.code != Code::kNotFound) {
    return Wrap(std::move(error), "write to the store");
  }
  return {Code::kFailedPrecondition,
          "write to the store: its folder has vanished"};
}

TempFile::TempFile(TempFile&& other) noexcept
    : folder_(std::exchange(other.folder_, nullptr)),
      name_(std::move(other.name_)),
      file_(std::move(other.file_)) {
  other.file_.reset();
}

TempFile::~TempFile() {
  if (folder_ != nullptr) (void)folder_->Unlink(name_);
}

Result<void> TempFile::Close() {
  auto closed = file_->Close();
  file_.reset();
  return closed;
}

Result<void> TempFile::Publish(const files::Directory& shard,
                               const std::string& name,
                               files::Replace replace) {
  RETURN_IF_ERROR(folder_->Rename(name_, shard, name, replace));
  folder_ = nullptr;
  return {};
}

Result<std::unique_ptr<TempFolder>> TempFolder::Make(const files::Root& root) {
  ASSIGN_OR_RETURN(files::Directory parent, root.OpenDirectory(kTemporary));
  while (true) {
    std::string name = files::RandomName("");
    RETURN_IF_ERROR(parent.MakeDirectory(name, kFolderMode));
    auto held = parent.OpenDirectory(name);
    if (!held && held.error().code == Code::kNotFound) continue;
    if (!held) return std::move(held).error();
    ASSIGN_OR_RETURN(const bool locked,
                     TryLock(held->descriptor(), LockMode::kExclusive));
    // Else somebody took it for a dead one, between making and locking.
    if (locked && StillThere(parent, name, *held)) {
      return std::make_unique<TempFolder>(std::move(parent), std::move(name),
                                          *std::move(held));
    }
  }
}

Result<void> TempFolder::RemoveDead(const Context& ctx,
                                    const files::Root& root) {
  ASSIGN_OR_RETURN(const files::Directory parent,
                   root.OpenDirectory(kTemporary));
  ASSIGN_OR_RETURN(const auto entries, parent.List(ctx));
  for (const files::Entry& entry : entries) {
    RETURN_IF_ERROR(RemoveIfDead(ctx, parent, entry.name));
  }
  return {};
}

TempFolder::~TempFolder() { (void)parent_.RemoveTree({}, name_); }

Result<TempFile> TempFolder::Create() {
  std::string name = std::to_string(next_.fetch_add(1));
  auto file = held_.CreateFile(name, kBlobMode);
  if (!file) return WriteError(std::move(file).error());
  return TempFile(held_, std::move(name), *std::move(file));
}

}  // namespace casemate::store
