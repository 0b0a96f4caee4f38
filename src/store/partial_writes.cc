#include "store/partial_writes.h"

#include "base/try.h"

namespace casemate::store {

class PartialWrites::PartialWriter : public Writer {
 public:
  PartialWriter(PartialWrites& table, Key key,
                std::unique_ptr<Progress> progress)
      : table_(table), key_(std::move(key)), progress_(std::move(progress)) {}

  ~PartialWriter() override {
    if (progress_ != nullptr) table_.Leave(key_, std::move(progress_));
  }

  int64_t offset() const override {
    return progress_ == nullptr ? 0 : progress_->hasher.size();
  }

  Result<void> Write(const Context& ctx,
                     std::span<const std::byte> data) override {
    RETURN_IF_ERROR(CheckOpen());
    RETURN_IF_ERROR(ctx.Check());
    if (static_cast<int64_t>(data.size()) > digest().size() - offset()) {
      return Error{Code::kOutOfRange, "write blob " + digest().ToString() +
                                          ": there are more bytes than that"};
    }
    if (auto ok = progress_->unfinished->Append(ctx, data); !ok) {
      Drop();  // Nobody knows how much of `data` arrived.
      return ok;
    }
    progress_->hasher.Update(data);
    return {};
  }

  Result<void> Commit(const Context& ctx) override {
    RETURN_IF_ERROR(CheckOpen());
    auto result = Publish(ctx);
    Drop();
    return result;
  }

 private:
  const Digest& digest() const { return key_.second; }

  Result<void> CheckOpen() const {
    if (progress_ != nullptr) return {};
    return Error{Code::kFailedPrecondition,
                 "write blob " + digest().ToString() +
                     ": this writer has failed or was committed before"};
  }

  Result<void> Publish(const Context& ctx) {
    if (offset() < digest().size()) {
      return Error{Code::kInvalidArgument,
                   "write blob " + digest().ToString() + ": only " +
                       std::to_string(offset()) + " bytes were written"};
    }
    const Digest actual = progress_->hasher.Finish();
    if (actual != digest()) return digest::Mismatch(digest(), actual);
    return progress_->unfinished->Publish(ctx);
  }

  void Drop() {
    progress_.reset();
    table_.Forget(key_);
  }

  PartialWrites& table_;
  const Key key_;
  std::unique_ptr<Progress> progress_;  // Null after failure or Commit.
};

Result<std::unique_ptr<Writer>> PartialWrites::Start(const Context& ctx,
                                                     const Digest& digest,
                                                     std::string_view id,
                                                     const Make& make) {
  RETURN_IF_ERROR(ctx.Check());
  Trim();
  Key key(id, digest);
  ASSIGN_OR_RETURN(auto progress, Claim(key));
  if (progress == nullptr) {
    auto unfinished = make();
    if (!unfinished) {
      Forget(key);
      return std::move(unfinished).error();
    }
    progress = std::make_unique<Progress>(
        Progress{digest::Hasher(digest.function()), *std::move(unfinished)});
  }
  return std::make_unique<PartialWriter>(*this, std::move(key),
                                         std::move(progress));
}

// What was left under `key`, or null for a new one; the key is then taken.
Result<std::unique_ptr<PartialWrites::Progress>> PartialWrites::Claim(
    const Key& key) {
  if (key.first.empty()) return std::unique_ptr<Progress>();
  base::MutexLock lock(mutex_);
  const auto [entry, added] = entries_.try_emplace(key);
  if (added) return std::unique_ptr<Progress>();
  if (entry->second.progress == nullptr) {
    return Error{Code::kAborted, "write blob " + key.second.ToString() +
                                     ": another writer with id \"" + key.first +
                                     "\" is open"};
  }
  return std::move(entry->second.progress);
}

void PartialWrites::Leave(const Key& key, std::unique_ptr<Progress> progress) {
  if (key.first.empty()) return;
  {
    base::MutexLock lock(mutex_);
    entries_[key] = Entry{std::move(progress), clock_.Now()};
  }
  Trim();
}

void PartialWrites::Forget(const Key& key) {
  if (key.first.empty()) return;
  base::MutexLock lock(mutex_);
  entries_.erase(key);
}

std::unique_ptr<PartialWrites::Progress> PartialWrites::TakeExcess() {
  base::MutexLock lock(mutex_);
  size_t count = 0;
  int64_t bytes = 0;
  auto oldest = entries_.end();
  for (auto each = entries_.begin(); each != entries_.end(); ++each) {
    const Entry& entry = each->second;
    if (entry.progress == nullptr) continue;
    ++count;
    bytes += entry.progress->hasher.size();
    if (oldest == entries_.end() || entry.left < oldest->second.left) {
      oldest = each;
    }
  }
  if (count == 0) return nullptr;
  const bool excess = count > limits_.count || bytes > limits_.bytes ||
                      clock_.Now() - oldest->second.left > limits_.age;
  if (!excess) return nullptr;
  auto taken = std::move(oldest->second.progress);
  entries_.erase(oldest);
  return taken;
}

// Each is removed without the lock, because it may own a file.
void PartialWrites::Trim() {
  while (TakeExcess() != nullptr) {
  }
}

}  // namespace casemate::store
