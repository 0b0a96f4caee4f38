// Materialiser: fetches what a plan needs and builds the tree from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "casemate/blob_store.h"
#include "casemate/pull.h"
#include "readpool/progress_feed.h"
#include "transfer/tree_target.h"
#include "tree/plan.h"
#include "work/budget.h"
#include "work/pool.h"

namespace casemate::transfer {

// Builds in this order: directories, files (each distinct content fetched
// once), links, what is recorded of directories. Small contents come many at
// once through GetMany, larger ones stream. Memory is taken from the budget
// before a task starts.
//
// An entry that the target refuses because of what is already there
// (kAlreadyExists while merging), or that the options refuse, becomes a failed
// entry, a directory with all below it. Every other error ends the whole.
class Materialiser {
 public:
  struct Options {
    bool merging = false;
    bool safe_links = false;
    bool preserve = false;
  };

  Materialiser(const tree::Plan& plan, BlobStore& store, TreeTarget& target,
               Options options);

  Result<void> Build(const Context& ctx, work::Budget& budget, work::Pool& pool,
                     readpool::ProgressFeed& feed) EXCLUDES(mutex_);

  std::vector<EntryError> TakeFailed() EXCLUDES(mutex_);
  int64_t bytes_fetched() const EXCLUDES(mutex_);

 private:
  using Contents = std::span<const tree::Plan::Content>;

  Result<void> MakeDirectories(const Context& ctx) EXCLUDES(mutex_);
  Result<void> FetchContents(const Context& ctx, work::Budget& budget,
                             work::Pool& pool, readpool::ProgressFeed& feed);
  Result<void> FetchSmall(const Context& ctx, Contents contents,
                          readpool::ProgressFeed& feed);
  Result<void> FetchLarge(const Context& ctx,
                          const tree::Plan::Content& content,
                          int64_t buffer_bytes, readpool::ProgressFeed& feed);
  Result<void> Stream(const Context& ctx, const Digest& digest,
                      std::span<const tree::Plan::Target> targets,
                      std::span<std::byte> buffer);
  Result<void> MakeLinks(const Context& ctx) EXCLUDES(mutex_);
  Result<void> RestoreDirectories(const Context& ctx);

  // Nothing if the directory that the target belongs to could not be made.
  std::optional<std::string> PathOf(const tree::Plan::Target& target);
  EntryMode ModeOf(const tree::Plan::Target& target) const;
  Result<void> Settle(const std::string& path, Result<void> made)
      EXCLUDES(mutex_);
  void Count(const tree::Plan::Content& content, readpool::ProgressFeed& feed)
      EXCLUDES(mutex_);

  const tree::Plan& plan_;
  BlobStore& store_;
  TreeTarget& target_;
  const Options options_;
  std::vector<bool> unmade_;  // By place; fixed once directories are made.

  mutable base::Mutex mutex_;
  std::vector<EntryError> failed_ GUARDED_BY(mutex_);
  int64_t bytes_fetched_ GUARDED_BY(mutex_) = 0;
};

}  // namespace casemate::transfer
