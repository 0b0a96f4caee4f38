#include "reapi/server/uploads.h"

#include "base/check.h"

namespace casemate::reapi {

Uploads::Key Uploads::KeyOf(const ResourceName& name) {
  std::string id(name.encoding == Encoding::kZstd ? "z" : "i");
  id += name.uuid;  // Has no slash.
  id += '/';
  id += name.instance;
  return {std::move(id), name.digest};
}

Uploads::Claim::~Claim() { uploads_.End(*this); }

Uploads::~Uploads() {
  base::MutexLock lock(mutex_);
  CASEMATE_CHECK(active_.empty());
}

// Nobody holds `key`.
std::unique_ptr<Uploads::Claim> Uploads::Take(Key key, rpc::Waker wake) {
  const auto left = left_by_key_.find(key);
  std::unique_ptr<Claim> claim(
      new Claim(*this, std::move(key), std::move(wake)));
  claim->first_ = true;
  if (left != left_by_key_.end()) {
    left_.erase(left->second);
    left_by_key_.erase(left);
  }
  active_.emplace(claim->key_, claim.get());
  return claim;
}

std::unique_ptr<Uploads::Claim> Uploads::Begin(const ResourceName& name,
                                               rpc::Waker wake) {
  Key key = KeyOf(name);
  base::MutexLock lock(mutex_);
  if (!active_.contains(key)) return Take(std::move(key), std::move(wake));
  return std::unique_ptr<Claim>(
      new Claim(*this, std::move(key), std::move(wake)));
}

Uploads::Continued Uploads::Continue(const ResourceName& name, int64_t offset,
                                     rpc::Waker wake) {
  Key key = KeyOf(name);
  rpc::Waker holder;
  {
    base::MutexLock lock(mutex_);
    const auto active = active_.find(key);
    if (active == active_.end()) {
      if (!left_by_key_.contains(key)) return {};
      return {Take(std::move(key), std::move(wake)), false};
    }
    Claim& claim = *active->second;
    if (offset > claim.committed_) return {};  // Nobody was told so.
    claim.successors_.push_back(std::move(wake));
    if (!claim.superseded_.exchange(true)) holder = claim.wake_;
  }
  if (holder) holder();
  return {nullptr, true};
}

Uploads::Found Uploads::Look(const ResourceName& name) {
  Key key = KeyOf(name);
  base::MutexLock lock(mutex_);
  const auto active = active_.find(key);
  if (active != active_.end()) {
    return {nullptr, active->second->committed_.load()};
  }
  if (!left_by_key_.contains(key)) return {};
  return {Take(std::move(key), {}), std::nullopt};
}

void Uploads::End(Claim& claim) {
  std::vector<rpc::Waker> successors;
  {
    base::MutexLock lock(mutex_);
    if (!claim.first_) return;
    active_.erase(claim.key_);
    if (claim.keep_) RememberLeft(claim.key_);
    successors.swap(claim.successors_);
  }
  for (const rpc::Waker& wake : successors) wake();
}

void Uploads::RememberLeft(const Key& key) {
  left_by_key_[key] = left_.insert(left_.end(), key);
  if (left_.size() <= max_left_) return;
  left_by_key_.erase(left_.front());
  left_.pop_front();
}

size_t Uploads::under_way() const {
  base::MutexLock lock(mutex_);
  return active_.size();
}

size_t Uploads::left() const {
  base::MutexLock lock(mutex_);
  return left_.size();
}

}  // namespace casemate::reapi
