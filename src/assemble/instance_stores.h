// The stores of a server, one set for each instance name or one for all.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "actions/action_cache.h"
#include "actions/instance.h"
#include "assemble/store_stack.h"
#include "base/mutex.h"
#include "casemate/context.h"

namespace casemate::assemble {

struct InstanceSettings {
  StoreSettings store;
  bool separate = false;       // Instances share nothing; otherwise the blobs.
  size_t max_instances = 256;  // Kept apart; beyond them, kResourceExhausted.
};

// Owns the stacks; hands out instances that live as long as it does. Safe from
// many threads.
class InstanceStores {
 public:
  // Opens what all instances share, and takes the store's folder for this
  // server alone.
  static Result<std::unique_ptr<InstanceStores>> Open(
      const InstanceSettings& settings);

  // Makes the instance's own stores when it is new and instances are separate;
  // that may block.
  Result<const actions::Instance*> Find(const Context& ctx, std::string_view name)
      EXCLUDES(mutex_);

  // The same for one that was found before; null otherwise. Never blocks long.
  const actions::Instance* Known(std::string_view name) EXCLUDES(mutex_);

 private:
  struct Opened {
    StoreStack stack;
    std::unique_ptr<actions::ActionCache> actions;
    actions::Instance instance;
  };

  explicit InstanceStores(const InstanceSettings& settings)
      : settings_(settings) {}

  static Result<std::unique_ptr<Opened>> OpenOne(const StoreSettings& settings);
  StoreSettings SettingsOf(std::string_view name) const;

  const InstanceSettings settings_;
  std::unique_ptr<Opened> base_;  // Of all, or of the empty name.
  base::Mutex mutex_;
  std::map<std::string, std::unique_ptr<Opened>, std::less<>> others_
      GUARDED_BY(mutex_);
};

}  // namespace casemate::assemble
