// What the tests of the disk store share.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "casemate/stores.h"
#include "testing/temp_dir.h"

namespace casemate::store {

// Stands still until it is moved.
class FakeClock : public base::Clock {
 public:
  std::chrono::steady_clock::time_point Now() const override { return now_; }
  std::chrono::system_clock::time_point WallNow() const override {
    return wall_;
  }
  void Advance(std::chrono::nanoseconds time) {
    now_ +=
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(time);
    wall_ += time;
  }

 private:
  std::chrono::steady_clock::time_point now_ = std::chrono::steady_clock::now();
  std::chrono::system_clock::time_point wall_ =
      std::chrono::system_clock::now();
};

// A store's folder, and what a test does to it behind the store's back.
class StoreFolder {
 public:
  explicit StoreFolder(DiskStoreOptions options = {})
      : options_(std::move(options)) {}
  explicit StoreFolder(Encoding at_rest)
      : StoreFolder(DiskStoreOptions{.at_rest = at_rest}) {}

  std::unique_ptr<DiskStore> Open() const;
  std::unique_ptr<DiskStore> Open(const base::Clock& clock) const;
  Result<std::unique_ptr<DiskStore>> TryOpen() const;

  std::string path() const { return dir_ / "store"; }

  // The blob's file, in whichever form it is kept.
  std::string PathOf(const Digest& digest) const;
  bool IsZstd(const Digest& digest) const;

  // Writes other bytes into the blob's file, its times as a disk error would
  // leave them: mtime and ctime are new.
  void Overwrite(const Digest& digest, const std::string& text) const;

  // Seconds since the epoch; both times of the file.
  void SetLastUse(const Digest& digest, int64_t seconds) const;
  int64_t LastUse(const Digest& digest) const;

  // Files below `folder` ("cas", "tmp", "damaged"), without directories.
  size_t CountFiles(const std::string& folder) const;
  uintmax_t CountBytes(const std::string& folder) const;

 private:
  std::string PathOf(const Digest& digest, Encoding form) const;

  const DiskStoreOptions options_;
  testing::TempDir dir_;
};

// Descriptors that this process has open.
size_t CountDescriptors();

}  // namespace casemate::store
