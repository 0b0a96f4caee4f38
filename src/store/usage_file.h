// How much a store holds, known without looking.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "casemate/result.h"
#include "files/directory.h"

namespace casemate::store {

struct Usage {
  int64_t bytes = 0;
  int64_t blobs = 0;
};

// What the file said when it was last read, and what this process has added
// since. Written now and then, and by Flush. Safe from many threads.
class UsageFile {
 public:
  // Without the file, or with one that cannot be read, the count begins at 0.
  static Result<std::unique_ptr<UsageFile>> Open(
      const files::Directory& directory);

  explicit UsageFile(files::Descriptor file);
  ~UsageFile() { Flush(); }

  Usage Now() const;

  // May be negative.
  void Add(Usage change);

  // What was counted, in place of all that was believed.
  void Set(Usage exact);

  // Adds to the file what was added since. A failure, or another thread that
  // is just doing so, keeps it for next time.
  void Flush();

 private:
  bool Write(Usage change, bool exact);

  const files::Descriptor file_;
  std::atomic<int64_t> base_bytes_ = 0;
  std::atomic<int64_t> base_blobs_ = 0;
  std::atomic<int64_t> new_bytes_ = 0;
  std::atomic<int64_t> new_blobs_ = 0;
  std::atomic<bool> writing_ = false;  // flock does not part threads.
};

}  // namespace casemate::store
