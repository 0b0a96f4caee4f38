// The entries of a directory one after another, in bounded memory.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "files/directory.h"

namespace casemate::files {

// Reads a held directory from its beginning, without "." and "..". There may be
// only one at a time, because the descriptor holds the position.
class DirectoryStream {
 public:
  explicit DirectoryStream(const Directory& directory)
      : fd_(directory.descriptor().get()) {}

  struct Item {
    std::string_view name;  // Until the next call.
    Kind kind;
  };

  // nullopt at the end.
  Result<std::optional<Item>> Next();

 private:
  Result<void> Fill();

  const int fd_;
  bool started_ = false;
  size_t at_ = 0;
  size_t end_ = 0;
  alignas(8) std::array<char, 32768> buffer_;
};

}  // namespace casemate::files
