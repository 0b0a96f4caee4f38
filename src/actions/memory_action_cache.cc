#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "actions/action_cache.h"
#include "base/mutex.h"
#include "base/try.h"

namespace casemate::actions {
namespace {

// What an entry costs beside its name and its message, about.
constexpr int64_t kEntryBytes = 256;

class MemoryActionCache : public ActionCache {
 public:
  explicit MemoryActionCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  Result<Bytes> Get(const Context& ctx, const ActionKey& key) override
      EXCLUDES(mutex_) {
    RETURN_IF_ERROR(ctx.Check());
    base::MutexLock lock(mutex_);
    const auto found = results_.find(key);
    if (found != results_.end()) return found->second;
    return Error{Code::kNotFound,
                 "no result of action " + key.action.ToString()};
  }

  Result<void> Update(const Context& ctx, const ActionKey& key,
                      const Bytes& result) override EXCLUDES(mutex_) {
    RETURN_IF_ERROR(ctx.Check());
    // A copy: what is kept for long must not keep a whole request alive.
    Bytes kept = Bytes::Copy(result.span());
    base::MutexLock lock(mutex_);
    const auto found = results_.find(key);
    const int64_t before =
        found == results_.end() ? 0 : Cost(key, found->second);
    const int64_t more = Cost(key, kept) - before;
    if (more > max_bytes_ - bytes_) {
      return Error{Code::kResourceExhausted,
                   "keep the result of action " + key.action.ToString() +
                       " in memory: the action cache is limited to " +
                       std::to_string(max_bytes_) + " bytes"};
    }
    bytes_ += more;
    results_.insert_or_assign(key, std::move(kept));
    return {};
  }

 private:
  static int64_t Cost(const ActionKey& key, const Bytes& result) {
    return kEntryBytes + static_cast<int64_t>(key.instance.size()) +
           static_cast<int64_t>(result.size());
  }

  const int64_t max_bytes_;
  base::Mutex mutex_;
  int64_t bytes_ GUARDED_BY(mutex_) = 0;
  std::map<ActionKey, Bytes> results_ GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<ActionCache> MakeMemoryActionCache(int64_t max_bytes) {
  return std::make_unique<MemoryActionCache>(max_bytes);
}

}  // namespace casemate::actions
