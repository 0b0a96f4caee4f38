// ActionCache: results of actions, under the digests of the actions.
#pragma once

#include <compare>
#include <memory>
#include <string>
#include <string_view>

#include "casemate/bytes.h"
#include "casemate/context.h"
#include "casemate/digest.h"
#include "casemate/result.h"

namespace casemate::actions {

// What a result is kept under. The instance belongs to it: what one instance's
// clients built is no answer for another's.
struct ActionKey {
  std::string instance;  // Any bytes; never a part of a path.
  Digest action;         // Of the Action message; no blob need be there.

  friend bool operator==(const ActionKey&, const ActionKey&) = default;
  friend std::strong_ordering operator<=>(const ActionKey&,
                                          const ActionKey&) = default;
};

// Holds serialized ActionResult messages, byte for byte, and looks at nothing
// in them (CompletenessChecker does). All methods may be called from any
// thread, and block.
class ActionCache {
 public:
  virtual ~ActionCache() = default;

  // kNotFound if there is none. Marks the entry as used. An empty message is a
  // result like any other. kDataLoss never: an entry that is damaged is absent.
  virtual Result<Bytes> Get(const Context& ctx, const ActionKey& key) = 0;

  // Later updates win; a reader sees one or the other whole. On return the
  // entry is there, durably where the store promises that.
  virtual Result<void> Update(const Context& ctx, const ActionKey& key,
                              const Bytes& result) = 0;
};

// In memory; kResourceExhausted beyond `max_bytes`.
std::unique_ptr<ActionCache> MakeMemoryActionCache(
    int64_t max_bytes = INT64_MAX);

// In the folder of a disk store, in the layout of docs/formats/disk-store.md.
// `durable` as DiskStoreOptions::Sync. The folder must be a store already.
Result<std::unique_ptr<ActionCache>> OpenDiskActionCache(
    const std::string& folder, bool durable);

}  // namespace casemate::actions
