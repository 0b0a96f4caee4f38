#include <memory>
#include <utility>

#include "base/try.h"
#include "files/atomic_file.h"
#include "transfer/tree_target.h"

namespace casemate::transfer {
namespace {

constexpr char kTemporaryPrefix[] = ".casemate-link-";

// What may not give way to a file or a link.
Result<void> CheckReplaceable(const files::Directory& parent,
                              const std::string& name,
                              const std::string& path) {
  const auto stat = parent.StatEntry(name);
  if (stat && stat->kind == files::Kind::kDirectory) {
    return Error{Code::kAlreadyExists,
                 "replace " + path + ": a directory is in its place"};
  }
  return {};
}

class MergedFile : public TargetFile {
 public:
  static Result<std::unique_ptr<TargetFile>> Create(const files::Root& root,
                                                    const std::string& path,
                                                    const EntryMode& mode,
                                                    uint32_t umask) {
    const auto [parent_path, name] = files::Split(path);
    ASSIGN_OR_RETURN(files::Directory parent, root.OpenDirectory(parent_path));
    auto held = std::make_unique<files::Directory>(std::move(parent));
    RETURN_IF_ERROR(CheckReplaceable(*held, std::string(name), path));
    ASSIGN_OR_RETURN(files::AtomicFile file, files::AtomicFile::Create(*held));
    const uint32_t bits = mode.properties.mode.value_or(
        (mode.executable ? 0755u : 0644u) & ~umask);
    return std::unique_ptr<TargetFile>(
        new MergedFile(std::move(held), std::move(file), std::string(name),
                       bits, mode.properties.mtime));
  }

  Result<void> Write(std::span<const std::byte> data) override {
    return file_.file().WriteSparse(data);
  }

  Result<void> Finish() override {
    RETURN_IF_ERROR(file_.file().FinishSparse());
    if (mtime_) RETURN_IF_ERROR(file_.file().SetModified(*mtime_));
    return file_.Publish(name_, mode_, files::Replace::kYes);
  }

 private:
  MergedFile(std::unique_ptr<files::Directory> parent, files::AtomicFile file,
             std::string name, uint32_t mode, std::optional<int64_t> mtime)
      : parent_(std::move(parent)),
        file_(std::move(file)),
        name_(std::move(name)),
        mode_(mode),
        mtime_(mtime) {}

  const std::unique_ptr<files::Directory> parent_;  // What file_ refers to.
  files::AtomicFile file_;
  const std::string name_;
  const uint32_t mode_;
  const std::optional<int64_t> mtime_;
};

class MergeTarget : public TreeTarget {
 public:
  explicit MergeTarget(const files::Root& root)
      : root_(root), umask_(Umask()) {}

  Result<void> MakeDirectory(std::string_view path) override {
    auto made = root_.MakeDirectory(path, 0755);
    if (made || made.error().code != Code::kAlreadyExists) return made;
    ASSIGN_OR_RETURN(const files::Stat stat, root_.StatPath(path));
    if (stat.kind == files::Kind::kDirectory) return {};
    return Error{Code::kAlreadyExists,
                 "make directory " + std::string(path) + ": a " +
                     std::string(files::KindName(stat.kind)) +
                     " is in its place"};
  }

  Result<std::unique_ptr<TargetFile>> CreateFile(
      const std::string& path, const EntryMode& mode) override {
    return MergedFile::Create(root_, path, mode, umask_);
  }

  Result<void> WriteFile(const std::string& path, const EntryMode& mode,
                         std::span<const std::byte> content) override {
    ASSIGN_OR_RETURN(auto file, CreateFile(path, mode));
    RETURN_IF_ERROR(file->Write(content));
    return file->Finish();
  }

  Result<void> RestoreDirectory(std::string_view path,
                                const tree::Properties& recorded) override {
    return RestoreDirectoryBelow(root_, path, recorded);
  }

  Result<void> MakeSymlink(const std::string& path,
                           const std::string& target) override {
    const auto [parent_path, name] = files::Split(path);
    ASSIGN_OR_RETURN(const files::Directory parent,
                     root_.OpenDirectory(parent_path));
    RETURN_IF_ERROR(CheckReplaceable(parent, std::string(name), path));
    const std::string temporary = files::RandomName(kTemporaryPrefix);
    RETURN_IF_ERROR(parent.MakeSymlink(temporary, target));
    auto renamed = parent.Rename(temporary, parent, name, files::Replace::kYes);
    if (!renamed) (void)parent.Unlink(temporary);
    return renamed;
  }

 private:
  const files::Root& root_;
  const uint32_t umask_;
};

}  // namespace

std::unique_ptr<TreeTarget> MakeMergeTarget(const files::Root& root) {
  return std::make_unique<MergeTarget>(root);
}

}  // namespace casemate::transfer
