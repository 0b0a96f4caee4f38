// Held directories for the beginnings of paths that are too long to be
// resolved at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "files/descriptor.h"

namespace casemate::files {

using SharedDescriptor = std::shared_ptr<const Descriptor>;

// The few used last. Without it the files of a directory 5,000 levels down
// would each cost a resolution of all 5,000. Safe from many threads.
class PrefixCache {
 public:
  struct Found {
    size_t cut = 0;         // Index into the cuts asked for.
    SharedDescriptor held;  // Null: none of them is known.
  };

  // The longest known of the beginnings of `path` that end at `cuts`.
  Found FindLongest(std::string_view path, std::span<const size_t> cuts)
      EXCLUDES(mutex_);

  void Add(std::string_view prefix, SharedDescriptor held) EXCLUDES(mutex_);

  // Forgets all that `path` begins with.
  void Drop(std::string_view path) EXCLUDES(mutex_);

 private:
  struct Item {
    std::string prefix;
    SharedDescriptor held;
  };

  base::Mutex mutex_;
  std::vector<Item> items_ GUARDED_BY(mutex_);  // Used last, comes last.
};

}  // namespace casemate::files
