// Publisher: gives finished files their final names, durably.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "casemate/context.h"
#include "casemate/digest.h"
#include "casemate/io.h"
#include "files/root.h"
#include "store/disk_layout.h"
#include "store/temp_folder.h"
#include "store/usage_file.h"
#include "work/group_commit.h"

namespace casemate::store {

// A file whose bytes have been verified and written, on its way.
struct Finished {
  Digest digest;
  TempFile file;
  Encoding form = Encoding::kIdentity;
  int64_t size = 0;  // Of the file.
  Result<void> result = {};

  // Closes the file, whose size is then known.
  Result<void> Close();
};

// Each call needs the filesystem synced twice, before and after it renames, and
// shares those syncs with all that run at the same time: see "How a blob gets
// its name" in docs/formats/disk-store.md. Safe from many threads.
class Publisher {
 public:
  // `durable` false leaves the syncs out. `both_forms`: a blob that is there in
  // the other form needs no second file. All must outlive it.
  Publisher(const files::Root& root, const files::Directory& top, bool durable,
            bool both_forms, const base::Clock& clock, UsageFile& usage);

  // Each must be closed. On return each of `blobs` is visible and durable, or
  // its result says why not. A cancelled call ends only before anything is
  // visible.
  void Publish(const Context& ctx, std::span<Finished> blobs);

  // A file that was found with this ctime is durable on return.
  Result<void> Secure(const Context& ctx, int64_t ctime);

 private:
  Result<void> Sync(const Context& ctx);
  Result<void> SyncNow();
  Result<void> Rename(ShardCursor& cursor, Finished& blob);
  bool HasOtherForm(const files::Directory& shard, const Finished& blob) const;

  const files::Root& root_;
  const files::Directory& top_;
  const bool durable_;
  const bool both_forms_;
  const base::Clock& clock_;
  UsageFile& usage_;
  std::atomic<int64_t> secure_until_ = INT64_MIN;
  work::GroupCommit<Result<void>> syncs_;
};

}  // namespace casemate::store
