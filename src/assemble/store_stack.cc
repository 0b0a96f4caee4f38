#include "assemble/store_stack.h"

#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "base/try.h"

namespace casemate::assemble {
namespace {

std::optional<std::string> Environment(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

constexpr char kKnown[] =
    "dir:PATH is a folder on this disk, dir: alone the default one, mem: is "
    "memory";

}  // namespace

Result<std::string> DefaultFolder() {
  if (auto home = Environment("CASEMATE_HOME")) return *home;
  if (auto cache = Environment("XDG_CACHE_HOME")) return *cache + "/casemate";
  if (auto home = Environment("HOME")) return *home + "/.cache/casemate";
  return Error{
      Code::kFailedPrecondition,
      "there is no default store, because none of CASEMATE_HOME, "
      "XDG_CACHE_HOME and HOME is set; name one with --store dir:PATH"};
}

Result<StoreStack> StoreStack::Open(const StoreSettings& settings) {
  const std::string_view address = settings.address;
  StoreStack stack;
  if (address == "mem:") {
    stack.top_ = MakeMemoryStore();
    return stack;
  }
  if (!address.starts_with("dir:")) {
    return Error{Code::kInvalidArgument,
                 "unknown store \"" + settings.address + "\": " + kKnown};
  }
  std::string folder(address.substr(4));
  if (folder.empty()) {
    ASSIGN_OR_RETURN(folder, DefaultFolder());
  }
  ASSIGN_OR_RETURN(
      auto disk,
      DiskStore::Open(folder,
                      {.sync = settings.sync ? DiskStoreOptions::Sync::kAlways
                                             : DiskStoreOptions::Sync::kOff,
                       .at_rest = settings.at_rest,
                       .zstd_level = settings.zstd_level,
                       .server = settings.server}));
  stack.disk_ = disk.get();
  stack.top_ = std::move(disk);
  return stack;
}

}  // namespace casemate::assemble
