#include "cli/collect.h"

#include <sys/statvfs.h>

#include <algorithm>

#include "config/units.h"

namespace casemate::cli {

int64_t DefaultMaxSize(const std::string& folder) {
  constexpr int64_t kMost = 20LL << 30;
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return kMost;
  const auto size =
      static_cast<int64_t>(disk.f_blocks) * static_cast<int64_t>(disk.f_frsize);
  return std::min(kMost, size / 10);
}

void CollectAbove(const Session& session, DiskStore* disk, int64_t max_size) {
  if (disk == nullptr) return;
  if (max_size == 0) max_size = DefaultMaxSize(disk->folder());
  if (disk->ApproximateBytes() <= max_size) return;
  // Well below the bound, so that the next push does not collect again.
  GcOptions options;
  options.max_bytes = max_size / 10 * 9;
  options.spare_used_since = session.started;
  const auto report = disk->Gc(session.ctx, options);
  if (!report) {
    session.console.Detail(
        "the store is above its size, but was not collected: " +
        report.error().message);
    return;
  }
  session.console.Note(
      "collected " + Count(report->blobs_removed, "blob", "blobs") + ", " +
      config::FormatSize(report->bytes_removed) + ", unused for longest");
}

}  // namespace casemate::cli
