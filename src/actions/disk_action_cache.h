// The action cache in a disk store's folder, put together.
#pragma once

#include <memory>
#include <string>

#include "actions/action_cache.h"
#include "base/clock.h"
#include "files/root.h"
#include "store/temp_folder.h"
#include "work/group_commit.h"

namespace casemate::actions {

class DiskActionCache : public ActionCache {
 public:
  // As OpenDiskActionCache, with a clock, which must outlive the cache.
  static Result<std::unique_ptr<ActionCache>> Open(const std::string& folder,
                                                   bool durable,
                                                   const base::Clock& clock);

  DiskActionCache(files::Root root, files::Directory top, bool durable,
                  const base::Clock& clock);

  Result<Bytes> Get(const Context& ctx, const ActionKey& key) override;
  Result<void> Update(const Context& ctx, const ActionKey& key,
                      const Bytes& result) override;

 private:
  Result<Bytes> Read(const ActionKey& key);
  void MarkUsed(const files::Directory& folder, const std::string& name,
                const files::Stat& stat);
  Result<store::TempFile> WriteTemp(const ActionKey& key, const Bytes& result);
  Result<void> Publish(const ActionKey& key, store::TempFile temp);
  Result<void> Sync(const Context& ctx);

  const files::Root root_;
  const files::Directory top_;
  const bool durable_;
  const base::Clock& clock_;
  // Where writing is allowed.
  const Result<std::unique_ptr<store::TempFolder>> temp_;
  work::GroupCommit<Result<void>> syncs_;
};

}  // namespace casemate::actions
