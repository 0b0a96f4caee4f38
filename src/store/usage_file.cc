#include "store/usage_file.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "base/try.h"
#include "files/sys.h"
#include "store/disk_layout.h"
#include "store/file_lock.h"

namespace casemate::store {
namespace {

namespace sys = files::sys;

constexpr int64_t kFlushBytes = 64 << 20;
constexpr int kDigits = 20;
constexpr size_t kLineSize = 2 * kDigits + 2;  // Always overwritten as a whole.

int64_t ParseNumber(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::max<int64_t>(value, 0);
}

Usage ReadUsage(const files::Descriptor& file) {
  char line[kLineSize];
  if (sys::PRead(file.get(), line, sizeof line, 0) != ssize_t{kLineSize}) {
    return {};
  }
  const std::string_view text(line, sizeof line);
  return {ParseNumber(text.substr(0, kDigits)),
          ParseNumber(text.substr(kDigits + 1, kDigits))};
}

bool WriteUsage(const files::Descriptor& file, Usage usage) {
  char line[kLineSize + 1];
  std::snprintf(line, sizeof line, "%0*lld %0*lld\n", kDigits,
                static_cast<long long>(std::max<int64_t>(usage.bytes, 0)),
                kDigits,
                static_cast<long long>(std::max<int64_t>(usage.blobs, 0)));
  return sys::PWrite(file.get(), line, kLineSize, 0) == ssize_t{kLineSize};
}

}  // namespace

Result<std::unique_ptr<UsageFile>> UsageFile::Open(
    const files::Directory& directory) {
  ASSIGN_OR_RETURN(files::Descriptor file, OpenLockFile(directory, kUsageFile));
  return std::make_unique<UsageFile>(std::move(file));
}

UsageFile::UsageFile(files::Descriptor file) : file_(std::move(file)) {
  const Usage usage = ReadUsage(file_);
  base_bytes_ = usage.bytes;
  base_blobs_ = usage.blobs;
}

Usage UsageFile::Now() const {
  return {std::max<int64_t>(base_bytes_ + new_bytes_, 0),
          std::max<int64_t>(base_blobs_ + new_blobs_, 0)};
}

void UsageFile::Add(Usage change) {
  new_blobs_ += change.blobs;
  if ((new_bytes_ += change.bytes) >= kFlushBytes) Flush();
}

void UsageFile::Set(Usage exact) {
  new_bytes_ = 0;
  new_blobs_ = 0;
  base_bytes_ = exact.bytes;
  base_blobs_ = exact.blobs;
  Write(exact, true);
}

void UsageFile::Flush() {
  const Usage change = {new_bytes_.exchange(0), new_blobs_.exchange(0)};
  if (change.bytes == 0 && change.blobs == 0) return;
  if (Write(change, false)) return;
  new_bytes_ += change.bytes;
  new_blobs_ += change.blobs;
}

bool UsageFile::Write(Usage change, bool exact) {
  if (writing_.exchange(true)) return false;
  bool written = false;
  if (WaitLock(file_, LockMode::kExclusive)) {
    const Usage before = exact ? Usage() : ReadUsage(file_);
    const Usage sum = {before.bytes + change.bytes,
                       before.blobs + change.blobs};
    written = WriteUsage(file_, sum);
    if (written) {
      base_bytes_ = sum.bytes;
      base_blobs_ = sum.blobs;
    }
    (void)Unlock(file_);
  }
  writing_ = false;
  return written;
}

}  // namespace casemate::store
