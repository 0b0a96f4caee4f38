// The folder where a process writes the files that are to become blobs.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "casemate/context.h"
#include "files/root.h"

namespace casemate::store {

// What a failed write says. kNotFound is said of blobs alone, so a store whose
// folder was taken away under it is kFailedPrecondition.
Error WriteError(Error error);

// A file that nobody sees yet. Not published, it removes itself. Its folder
// must outlive it.
class TempFile {
 public:
  TempFile(const files::Directory& folder, std::string name,
           files::OutputFile file)
      : folder_(&folder), name_(std::move(name)), file_(std::move(file)) {}
  TempFile(TempFile&& other) noexcept;
  TempFile& operator=(TempFile&&) = delete;
  ~TempFile();

  // Not after Close.
  files::OutputFile& file() { return *file_; }
  Result<void> Close();

  // Gives it its final name. kAlreadyExists under Replace::kNo.
  Result<void> Publish(const files::Directory& shard, const std::string& name,
                       files::Replace replace);

 private:
  const files::Directory* folder_;  // Null once published or moved from.
  std::string name_;
  std::optional<files::OutputFile> file_;  // A closed one costs no descriptor.
};

// "tmp/<random>", locked while its process lives, removed at its end. Safe from
// many threads.
class TempFolder {
 public:
  static Result<std::unique_ptr<TempFolder>> Make(const files::Root& root);

  // Removes those whose processes are dead.
  static Result<void> RemoveDead(const Context& ctx, const files::Root& root);

  TempFolder(files::Directory parent, std::string name, files::Directory held)
      : parent_(std::move(parent)),
        name_(std::move(name)),
        held_(std::move(held)) {}
  ~TempFolder();

  Result<TempFile> Create();

 private:
  const files::Directory parent_;
  const std::string name_;
  const files::Directory held_;  // Carries the lock.
  std::atomic<uint64_t> next_ = 0;
};

}  // namespace casemate::store
