#include "rpc/http2/incoming.h"

#include <utility>

#include "base/try.h"

namespace casemate::rpc::http2 {

Result<void> Incoming::Add(std::string_view bytes) {
  held_ += bytes.size();
  size_t taken = 0;
  if (backlog_.empty()) {
    ASSIGN_OR_RETURN(taken, Take(bytes));
  }
  backlog_.append(bytes.substr(taken));
  return {};
}

// Cuts messages until enough of them are ready.
Result<size_t> Incoming::Take(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && ready_.size() < kMostReady) {
    ASSIGN_OR_RETURN(const size_t part, deframer_.Take(bytes.substr(taken)));
    taken += part;
    cost_ += part;
    if (!deframer_.ready()) continue;
    ready_.push_back({deframer_.Pop(), std::exchange(cost_, 0)});
  }
  return taken;
}

Result<std::optional<Message>> Incoming::Next() {
  if (ready_.empty()) return std::optional<Message>();
  Ready first = std::move(ready_.front());
  ready_.erase(ready_.begin());
  credit_ += first.cost;
  if (!backlog_.empty()) {
    ASSIGN_OR_RETURN(const size_t taken, Take(backlog_));
    backlog_.erase(0, taken);
  }
  return std::optional(std::move(first.message));
}

size_t Incoming::TakeCredit(bool waiting) {
  if (waiting) credit_ += std::exchange(cost_, 0);
  held_ -= credit_;
  return std::exchange(credit_, 0);
}

size_t Incoming::Abandon() {
  ready_.clear();
  backlog_ = {};
  cost_ = credit_ = 0;
  return std::exchange(held_, 0);
}

}  // namespace casemate::rpc::http2
