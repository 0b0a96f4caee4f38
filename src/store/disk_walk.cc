#include "store/disk_walk.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/try.h"
#include "store/disk_layout.h"

namespace casemate::store {
namespace {

Result<void> ListTop(const Context& ctx, const files::Root& root,
                     const OnForeign& on_foreign) {
  constexpr std::array<std::string_view, 10> kOurs = {
      kVersionFile, kLockFile,  kUsageFile, kServerFile, kZstdMarker,
      kBlobs,       kTemporary, kDamaged,   kActions,    kInstances};
  ASSIGN_OR_RETURN(const auto top, root.OpenDirectory(""));
  ASSIGN_OR_RETURN(const auto entries, top.List(ctx));
  for (const files::Entry& entry : entries) {
    if (std::ranges::find(kOurs, entry.name) == kOurs.end()) {
      on_foreign(entry.name);
    }
  }
  return {};
}

// nullopt if the entry cannot be opened as a directory.
std::optional<std::vector<files::Entry>> ListIfDirectory(
    const Context& ctx, const files::Root& root, const std::string& path) {
  auto directory = root.OpenDirectory(path);
  if (!directory) return std::nullopt;
  auto entries = directory->List(ctx);
  if (!entries) return std::nullopt;
  return *std::move(entries);
}

}  // namespace

Result<std::vector<ShardName>> ListShards(const Context& ctx,
                                          const files::Root& root,
                                          const OnForeign& on_foreign) {
  RETURN_IF_ERROR(ListTop(ctx, root, on_foreign));
  std::vector<ShardName> shards;
  ASSIGN_OR_RETURN(const auto blobs, root.OpenDirectory(kBlobs));
  ASSIGN_OR_RETURN(const auto functions, blobs.List(ctx));
  for (const files::Entry& entry : functions) {
    const std::string path = files::Join(kBlobs, entry.name);
    const auto function = ParseDigestFunction(entry.name);
    const auto entries = ListIfDirectory(ctx, root, path);
    if (!function || !entries) {
      on_foreign(path);
      continue;
    }
    for (const files::Entry& shard : *entries) {
      const std::string shard_path = files::Join(path, shard.name);
      if (IsShardName(shard.name)) {
        shards.push_back({*function, shard.name, shard_path});
      } else {
        on_foreign(shard_path);
      }
    }
  }
  RETURN_IF_ERROR(ctx.Check());
  return shards;
}

Result<void> WalkShard(
    const Context& ctx, const files::Root& root, const ShardName& shard,
    const OnForeign& on_foreign,
    const std::function<Result<void>(const BlobEntry&)>& on_blob) {
  auto directory = root.OpenDirectory(shard.path);
  if (!directory) {
    on_foreign(shard.path);
    return {};
  }
  ASSIGN_OR_RETURN(const auto entries, directory->List(ctx));
  for (const files::Entry& entry : entries) {
    RETURN_IF_ERROR(ctx.Check());
    const auto stat = directory->StatEntry(entry.name);
    if (!stat && stat.error().code == Code::kNotFound) continue;
    if (!stat) return stat.error();
    const auto named =
        ParseFileName(shard.function, shard.name, entry.name, stat->size);
    if (!named || stat->kind != files::Kind::kRegular) {
      on_foreign(files::Join(shard.path, entry.name));
      continue;
    }
    RETURN_IF_ERROR(
        on_blob({*directory, entry.name, named->digest, named->form, *stat}));
  }
  return {};
}

}  // namespace casemate::store
