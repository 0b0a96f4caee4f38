// Where a pulled tree is built: a new directory, or an existing one to merge
// into.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "casemate/result.h"
#include "files/root.h"
#include "tree/directory.h"

namespace casemate::transfer {

// A file being written; appears under its name with Finish at the latest, and
// never appears, or not for good, without it. One thread.
class TargetFile {
 public:
  virtual ~TargetFile() = default;
  virtual Result<void> Write(std::span<const std::byte> data) = 0;
  virtual Result<void> Finish() = 0;
};

// How an entry is to be made.
struct EntryMode {
  bool executable = false;
  tree::Properties properties;  // Empty unless they are to be restored.
};

// Paths are relative to the tree's root. Nothing here follows a link below it.
// A parent is made before its children; all may be called from many threads.
class TreeTarget {
 public:
  virtual ~TreeTarget() = default;
  virtual Result<void> MakeDirectory(std::string_view path) = 0;
  virtual Result<std::unique_ptr<TargetFile>> CreateFile(
      const std::string& path, const EntryMode& mode) = 0;
  virtual Result<void> MakeSymlink(const std::string& path,
                                   const std::string& target) = 0;

  // What is recorded of a directory, once nothing in it will change any more.
  virtual Result<void> RestoreDirectory(std::string_view path,
                                        const tree::Properties& recorded) = 0;

  // Whole small files, the most frequent case.
  virtual Result<void> WriteFile(const std::string& path, const EntryMode& mode,
                                 std::span<const std::byte> content) = 0;
};

// Into a directory that is ours alone: files are created under their names.
std::unique_ptr<TreeTarget> MakeNewTreeTarget(const files::Root& root);

// Into a directory with content: existing directories are kept, existing files
// and links replaced atomically; a directory is never replaced by a file, nor a
// file by a directory (kAlreadyExists).
std::unique_ptr<TreeTarget> MakeMergeTarget(const files::Root& root);

// RestoreDirectory for both.
Result<void> RestoreDirectoryBelow(const files::Root& root,
                                   std::string_view path,
                                   const tree::Properties& recorded);

// The process's umask, without changing it for other threads.
uint32_t Umask();

}  // namespace casemate::transfer
