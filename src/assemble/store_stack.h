// From an address to a stack of stores.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "casemate/blob_store.h"
#include "casemate/stores.h"

namespace casemate::assemble {

struct StoreSettings {
  std::string address;  // "dir:PATH", "dir:" (the default folder) or "mem:".
  bool sync = true;     // Of a disk store: acknowledged writes survive power
                        // loss.
  Encoding at_rest = Encoding::kIdentity;  // Of new blobs on a disk.
  int zstd_level = 3;
  std::string server = {};  // Where this process serves it: DiskStoreOptions.
};

// All layers of a stack, in the order they were built; owns them.
class StoreStack {
 public:
  // kInvalidArgument for an address that it does not know.
  static Result<StoreStack> Open(const StoreSettings& settings);

  BlobStore& store() { return *top_; }

  // The disk store at the bottom, for gc and verify; null if there is none.
  DiskStore* disk() { return disk_; }

 private:
  std::unique_ptr<BlobStore> top_;
  DiskStore* disk_ = nullptr;
};

// $CASEMATE_HOME, else $XDG_CACHE_HOME/casemate, else ~/.cache/casemate.
Result<std::string> DefaultFolder();

}  // namespace casemate::assemble
