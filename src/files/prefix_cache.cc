#include "files/prefix_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace casemate::files {
namespace {

constexpr size_t kMostItems = 16;

}  // namespace

PrefixCache::Found PrefixCache::FindLongest(std::string_view path,
                                            std::span<const size_t> cuts) {
  base::MutexLock lock(mutex_);
  for (size_t cut = cuts.size(); cut-- > 0;) {
    const std::string_view prefix = path.substr(0, cuts[cut]);
    const auto item = std::find_if(
        items_.begin(), items_.end(),
        [&](const Item& candidate) { return candidate.prefix == prefix; });
    if (item == items_.end()) continue;
    std::rotate(item, item + 1, items_.end());
    return {cut, items_.back().held};
  }
  return {};
}

void PrefixCache::Add(std::string_view prefix, SharedDescriptor held) {
  Item added{std::string(prefix), std::move(held)};
  Item oldest;  // Closed after the lock is released.
  base::MutexLock lock(mutex_);
  items_.push_back(std::move(added));
  if (items_.size() <= kMostItems) return;
  oldest = std::move(items_.front());
  items_.erase(items_.begin());
}

void PrefixCache::Drop(std::string_view path) {
  std::vector<Item> dropped;  // Closed after the lock is released.
  base::MutexLock lock(mutex_);
  const auto matching = std::stable_partition(
      items_.begin(), items_.end(),
      [&](const Item& item) { return !path.starts_with(item.prefix); });
  dropped.assign(std::make_move_iterator(matching),
                 std::make_move_iterator(items_.end()));
  items_.erase(matching, items_.end());
}

}  // namespace casemate::files
