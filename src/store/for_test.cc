#include "store/for_test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/check.h"
#include "store/disk_layout.h"
#include "store/disk_store.h"

namespace casemate::store {

namespace fs = std::filesystem;

std::unique_ptr<DiskStore> StoreFolder::Open() const {
  return TryOpen().value();
}

std::unique_ptr<DiskStore> StoreFolder::Open(const base::Clock& clock) const {
  return LocalDiskStore::Open(path(), options_, clock).value();
}

Result<std::unique_ptr<DiskStore>> StoreFolder::TryOpen() const {
  return DiskStore::Open(path(), options_);
}

std::string StoreFolder::PathOf(const Digest& digest) const {
  return PathOf(digest, IsZstd(digest) ? Encoding::kZstd : Encoding::kIdentity);
}

std::string StoreFolder::PathOf(const Digest& digest, Encoding form) const {
  return path() + "/" + std::string(BlobPath(digest, form).path());
}

bool StoreFolder::IsZstd(const Digest& digest) const {
  return fs::exists(PathOf(digest, Encoding::kZstd));
}

void StoreFolder::Overwrite(const Digest& digest,
                            const std::string& text) const {
  const std::string file = PathOf(digest);
  CASEMATE_CHECK(chmod(file.c_str(), 0644) == 0);
  testing::WriteFile(file, text);
}

void StoreFolder::SetLastUse(const Digest& digest, int64_t seconds) const {
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  CASEMATE_CHECK(utimensat(AT_FDCWD, PathOf(digest).c_str(), times, 0) == 0);
}

int64_t StoreFolder::LastUse(const Digest& digest) const {
  struct stat stat;
  CASEMATE_CHECK(::stat(PathOf(digest).c_str(), &stat) == 0);
  return std::max(stat.st_atim.tv_sec, stat.st_mtim.tv_sec);
}

size_t StoreFolder::CountFiles(const std::string& folder) const {
  const auto is_file = [](const fs::directory_entry& entry) {
    return entry.is_regular_file();
  };
  return static_cast<size_t>(
      std::count_if(fs::recursive_directory_iterator(path() + "/" + folder),
                    fs::recursive_directory_iterator(), is_file));
}

uintmax_t StoreFolder::CountBytes(const std::string& folder) const {
  uintmax_t bytes = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(path() + "/" + folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

size_t CountDescriptors() {
  return static_cast<size_t>(std::distance(
      fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

}  // namespace casemate::store
