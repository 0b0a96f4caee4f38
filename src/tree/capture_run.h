// For tests: a whole capture into a memory store.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/try.h"
#include "casemate/stores.h"
#include "tree/capture.h"

namespace casemate::tree {

// What a capture handed out, its blobs in `store`.
struct CaptureRun {
  std::vector<Digest> blobs;  // In order.
  std::vector<std::pair<std::string, Error>> failed;
  std::vector<std::pair<std::string, std::string>> skipped;
  Captured captured;
  std::unique_ptr<BlobStore> store = MakeMemoryStore();

  std::vector<std::string> failed_paths() const {
    std::vector<std::string> paths;
    for (const auto& [path, error] : failed) paths.push_back(path);
    return paths;
  }
};

// Takes one item in; a large file is stored through its source.
inline Result<void> TakeIn(CaptureItem item, Capture& capture,
                           CaptureRun& run) {
  if (auto* small = std::get_if<SmallBlob>(&item)) {
    run.blobs.push_back(small->blob.digest());
    return run.store->PutMany({}, std::span(&small->blob, 1))[0];
  }
  if (auto* large = std::get_if<LargeFile>(&item)) {
    run.blobs.push_back(large->digest);
    RETURN_IF_ERROR(run.store->Put({}, large->digest, *large->source));
    capture.Stored(large->token);
  } else if (auto* failed = std::get_if<FailedEntry>(&item)) {
    run.failed.emplace_back(failed->path, failed->error);
  } else if (auto* skipped = std::get_if<SkippedEntry>(&item)) {
    run.skipped.emplace_back(skipped->path, skipped->reason);
  } else {
    run.captured = std::get<Captured>(item);
  }
  return {};
}

// Pulls items until nothing is ready and nothing is being read.
template <typename Take>
Result<void> Drain(Capture& capture, Take take) {
  for (;;) {
    ASSIGN_OR_RETURN(std::optional<CaptureItem> item, capture.TryNext());
    if (item) {
      RETURN_IF_ERROR(take(std::move(*item)));
      continue;
    }
    ASSIGN_OR_RETURN(const bool more, capture.WaitForReaders());
    if (!more) return {};
  }
}

inline Result<CaptureRun> RunCapture(const std::string& path,
                                     CaptureOptions options = {},
                                     files::RootOptions root_options = {}) {
  ASSIGN_OR_RETURN(const files::Root root,
                   files::Root::Open(path, root_options));
  work::Budget budget(16 << 20);
  readpool::ReadPool pool(budget, {.readers = 2, .blocking_threads = 2});
  const Context ctx;
  CaptureRun run;
  Capture capture(ctx, root, pool, std::move(options));
  RETURN_IF_ERROR(Drain(capture, [&](CaptureItem item) {
    return TakeIn(std::move(item), capture, run);
  }));
  return run;
}

}  // namespace casemate::tree
