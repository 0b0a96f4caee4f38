#include <utility>

#include "base/try.h"
#include "transfer/tree_target.h"

namespace casemate::transfer {
namespace {

// What setting a file's recorded properties comes to.
Result<void> Restore(files::OutputFile& file,
                     const tree::Properties& properties) {
  if (properties.mode) RETURN_IF_ERROR(file.SetMode(*properties.mode));
  if (properties.mtime) RETURN_IF_ERROR(file.SetModified(*properties.mtime));
  return {};
}

class NewFile : public TargetFile {
 public:
  NewFile(files::OutputFile file, tree::Properties properties)
      : file_(std::move(file)), properties_(properties) {}

  Result<void> Write(std::span<const std::byte> data) override {
    return file_.WriteSparse(data);
  }

  Result<void> Finish() override {
    RETURN_IF_ERROR(file_.FinishSparse());
    RETURN_IF_ERROR(Restore(file_, properties_));
    return file_.Close();
  }

 private:
  files::OutputFile file_;
  const tree::Properties properties_;
};

class NewTreeTarget : public TreeTarget {
 public:
  explicit NewTreeTarget(const files::Root& root) : root_(root) {}

  Result<void> MakeDirectory(std::string_view path) override {
    return Explain(root_.MakeDirectory(path, 0755));
  }

  Result<std::unique_ptr<TargetFile>> CreateFile(
      const std::string& path, const EntryMode& mode) override {
    ASSIGN_OR_RETURN(files::OutputFile file, Create(path, mode));
    return std::make_unique<NewFile>(std::move(file), mode.properties);
  }

  Result<void> WriteFile(const std::string& path, const EntryMode& mode,
                         std::span<const std::byte> content) override {
    ASSIGN_OR_RETURN(files::OutputFile file, Create(path, mode));
    RETURN_IF_ERROR(file.Write(content));
    RETURN_IF_ERROR(Restore(file, mode.properties));
    return file.Close();
  }

  Result<void> RestoreDirectory(std::string_view path,
                                const tree::Properties& recorded) override {
    return RestoreDirectoryBelow(root_, path, recorded);
  }

  Result<void> MakeSymlink(const std::string& path,
                           const std::string& target) override {
    return Explain(root_.MakeSymlink(path, target));
  }

 private:
  Result<files::OutputFile> Create(const std::string& path,
                                   const EntryMode& mode) {
    return Explain(root_.CreateFile(path, mode.executable ? 0755 : 0644));
  }

  // The tree has every name once, so an entry that exists already is the
  // destination's doing.
  template <typename T>
  static Result<T> Explain(Result<T> result) {
    if (!result && result.error().code == Code::kAlreadyExists) {
      result.error().message +=
          " (the tree has this name only once; a destination that ignores "
          "upper and lower case cannot hold names that differ only by it)";
    }
    return result;
  }

  const files::Root& root_;
};

}  // namespace

std::unique_ptr<TreeTarget> MakeNewTreeTarget(const files::Root& root) {
  return std::make_unique<NewTreeTarget>(root);
}

}  // namespace casemate::transfer
