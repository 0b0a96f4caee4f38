#include "assemble/instance_stores.h"

#include <utility>

#include "base/try.h"
#include "digest/hasher.h"
#include "store/disk_layout.h"

namespace casemate::assemble {
namespace {

// The folders of separate instances, below the server's own. A name may hold
// anything, so its hash stands for it.
std::string FolderOf(const std::string& base, std::string_view name) {
  return base + "/" + store::kInstances + "/" +
         digest::Hash(DigestFunction::kSha256, AsBytes(name)).Hex();
}

}  // namespace

Result<std::unique_ptr<InstanceStores>> InstanceStores::Open(
    const InstanceSettings& settings) {
  std::unique_ptr<InstanceStores> stores(new InstanceStores(settings));
  ASSIGN_OR_RETURN(stores->base_, OpenOne(settings.store));
  return stores;
}

Result<std::unique_ptr<InstanceStores::Opened>> InstanceStores::OpenOne(
    const StoreSettings& settings) {
  ASSIGN_OR_RETURN(StoreStack stack, StoreStack::Open(settings));
  std::unique_ptr<actions::ActionCache> actions;
  if (const DiskStore* const disk = stack.disk()) {
    ASSIGN_OR_RETURN(
        actions, actions::OpenDiskActionCache(disk->folder(), settings.sync));
  } else {
    actions = actions::MakeMemoryActionCache();
  }
  const actions::Instance instance = {stack.store(), *actions};
  return std::unique_ptr<Opened>(
      new Opened{std::move(stack), std::move(actions), instance});
}

Result<const actions::Instance*> InstanceStores::Find(const Context& ctx,
                                                      std::string_view name) {
  if (const actions::Instance* const known = Known(name)) return known;
  RETURN_IF_ERROR(ctx.Check());
  // Opened under the lock: two folders of one name must not be made, and a new
  // instance is rare.
  base::MutexLock lock(mutex_);
  auto& opened = others_[std::string(name)];
  if (opened != nullptr) return &opened->instance;
  Result<std::unique_ptr<Opened>> made =
      others_.size() <= settings_.max_instances
          ? OpenOne(SettingsOf(name))
          : Error{Code::kResourceExhausted,
                  "this server keeps at most " +
                      std::to_string(settings_.max_instances) +
                      " instances apart"};
  if (!made) {
    others_.erase(std::string(name));
    return Wrap(std::move(made).error(), "open the instance");
  }
  opened = *std::move(made);
  return &opened->instance;
}

const actions::Instance* InstanceStores::Known(std::string_view name) {
  if (!settings_.separate || name.empty()) return &base_->instance;
  base::MutexLock lock(mutex_);
  const auto found = others_.find(name);
  return found == others_.end() ? nullptr : &found->second->instance;
}

StoreSettings InstanceStores::SettingsOf(std::string_view name) const {
  StoreSettings settings = settings_.store;
  if (const DiskStore* const disk = base_->stack.disk()) {
    settings.address = "dir:" + FolderOf(disk->folder(), name);
  }
  return settings;
}

}  // namespace casemate::assemble
