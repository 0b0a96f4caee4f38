#include "work/budget.h"

#include <algorithm>

#include "base/check.h"

namespace casemate::work {

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    Release();
    budget_ = std::exchange(other.budget_, nullptr);
    amount_ = std::exchange(other.amount_, 0);
  }
  return *this;
}

void Lease::Release() {
  ShrinkTo(0);
  budget_ = nullptr;
}

void Lease::ShrinkTo(int64_t amount) {
  if (amount >= amount_) return;
  budget_->Return(amount_ - amount);
  amount_ = amount;
}

Lease Lease::Split(int64_t amount) {
  CASEMATE_CHECK(amount >= 0);
  amount = std::min(amount, amount_);
  amount_ -= amount;
  return Lease(budget_, amount);
}

void Lease::Merge(Lease other) {
  if (other.amount_ == 0) return;
  CASEMATE_CHECK(amount_ == 0 || budget_ == other.budget_);
  budget_ = std::exchange(other.budget_, nullptr);
  amount_ += std::exchange(other.amount_, 0);
}

Budget::Budget(int64_t capacity) : capacity_(capacity) {
  CASEMATE_CHECK(capacity > 0);
}

Budget::~Budget() { CASEMATE_CHECK(used() == 0); }

Result<Lease> Budget::Acquire(const Context& ctx, int64_t amount) {
  if (auto ok = ctx.Check(); !ok) return std::move(ok).error();
  Waiter self{Cut(amount)};
  base::WakeOnStop wake(ctx, mutex_, self.changed);
  base::MutexLock lock(mutex_);
  waiters_.push_back(&self);
  Grant();
  while (!self.granted) {
    if (auto ok = ctx.Check(); !ok) {
      std::erase(waiters_, &self);
      Grant();  // Those behind may have waited for this one's turn only.
      return std::move(ok).error();
    }
    self.changed.WaitUntil(mutex_, ctx.deadline);
  }
  return Lease(this, self.amount);
}

Lease Budget::TryAcquire(int64_t amount) {
  amount = Cut(amount);
  base::MutexLock lock(mutex_);
  if (!waiters_.empty() || !Fits(amount)) return {};
  Take(amount);
  return Lease(this, amount);
}

int64_t Budget::used() const {
  base::MutexLock lock(mutex_);
  return used_;
}

int64_t Budget::peak() const {
  base::MutexLock lock(mutex_);
  return peak_;
}

size_t Budget::waiting() const {
  base::MutexLock lock(mutex_);
  return waiters_.size();
}

int64_t Budget::Cut(int64_t amount) const {
  CASEMATE_CHECK(amount >= 0);
  return std::min(amount, capacity_);
}

bool Budget::Fits(int64_t amount) const { return amount <= capacity_ - used_; }

void Budget::Take(int64_t amount) {
  used_ += amount;
  peak_ = std::max(peak_, used_);
}

void Budget::Grant() {
  while (!waiters_.empty() && Fits(waiters_.front()->amount)) {
    Waiter& next = *waiters_.front();
    waiters_.pop_front();
    Take(next.amount);
    next.granted = true;
    next.changed.NotifyOne();
  }
}

void Budget::Return(int64_t amount) {
  base::MutexLock lock(mutex_);
  used_ -= amount;
  CASEMATE_CHECK(used_ >= 0);
  Grant();
}

}  // namespace casemate::work
