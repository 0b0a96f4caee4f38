// A file that appears under its name complete, or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "files/directory.h"

namespace casemate::files {

// Writes to a random temporary name (O_EXCL, 0600) in the same directory, which
// must outlive it. Not published, it removes the temporary file.
class AtomicFile {
 public:
  static Result<AtomicFile> Create(const Directory& directory);

  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  ~AtomicFile();

  OutputFile& file() { return file_; }

  // Sets the mode through the descriptor, closes, renames. kAlreadyExists under
  // Replace::kNo if `name` exists. Does not sync; file().Sync() before does.
  Result<void> Publish(const std::string& name, uint32_t mode, Replace replace);

 private:
  AtomicFile(const Directory& directory, std::string temporary,
             OutputFile file);

  const Directory* directory_;
  std::string temporary_;  // Empty once published.
  OutputFile file_;
};

// A name nobody can guess: `prefix` and 16 hex digits from the kernel.
std::string RandomName(std::string_view prefix);

}  // namespace casemate::files
