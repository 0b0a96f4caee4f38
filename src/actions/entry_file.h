// What is in a file of the disk action cache, and where it lies; see "The
// action cache" in docs/formats/disk-store.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "actions/action_cache.h"

namespace casemate::actions {

// Larger ones are none. Far above what fits into a message.
inline constexpr int64_t kMaxEntryBytes = int64_t{64} << 20;

std::string EntryFolder(const ActionKey& key);  // "ac/<64 hex>/sha256/ab"
std::string EntryName(const ActionKey& key);    // "<rest>-<size>"

// All that stands before the message in its file.
std::string EntryHead(const ActionKey& key, const Bytes& result);

// The message in a file's bytes; nullopt unless they are, to the last bit, an
// entry of that key.
std::optional<Bytes> ParseEntry(const ActionKey& key, const Bytes& file);

}  // namespace casemate::actions
