// Passing over all that lies in a disk store.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "casemate/context.h"
#include "casemate/digest.h"
#include "casemate/io.h"
#include "files/root.h"

namespace casemate::store {

struct ShardName {
  DigestFunction function;
  std::string name;  // "ab"
  std::string path;  // "cas/sha256/ab"
};

// Told the paths of entries that are none of ours.
using OnForeign = std::function<void(std::string path)>;

Result<std::vector<ShardName>> ListShards(const Context& ctx,
                                          const files::Root& root,
                                          const OnForeign& on_foreign);

// A file with the name of a blob. `digest` has the size that name or file say.
struct BlobEntry {
  const files::Directory& shard;
  std::string name;
  Digest digest;
  Encoding form;
  files::Stat stat;
};

// Calls `on_blob` for each in the shard; stops at its first error.
Result<void> WalkShard(
    const Context& ctx, const files::Root& root, const ShardName& shard,
    const OnForeign& on_foreign,
    const std::function<Result<void>(const BlobEntry&)>& on_blob);

}  // namespace casemate::store
