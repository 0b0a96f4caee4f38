// Budget: a bounded amount of something, shared by all of a transfer.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "base/mutex.h"
#include "casemate/context.h"

namespace casemate::work {

class Budget;

// A part of a Budget; gives it back when it ends. Movable, may end on another
// thread. The Budget must outlive it.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)),
        amount_(std::exchange(other.amount_, 0)) {}
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { Release(); }

  int64_t amount() const { return amount_; }
  void Release();

  // Gives back all above `amount`.
  void ShrinkTo(int64_t amount);

  // Cuts off a lease of `amount`, or of all there is if that is less; takes in
  // another of the same budget. Neither asks the budget.
  Lease Split(int64_t amount);
  void Merge(Lease other);

 private:
  friend class Budget;
  Lease(Budget* budget, int64_t amount) : budget_(budget), amount_(amount) {}

  Budget* budget_ = nullptr;
  int64_t amount_ = 0;
};

// Hands out leases in the order they were asked for, so that a large request
// is not starved by small ones. A task takes all it needs in one request
// before it starts: nothing waits while it holds.
class Budget {
 public:
  explicit Budget(int64_t capacity);
  ~Budget();  // All leases have ended.

  // Waits until `amount` is free. More than the capacity is cut to it, so that
  // one item larger than the whole budget passes alone.
  Result<Lease> Acquire(const Context& ctx, int64_t amount) EXCLUDES(mutex_);

  // Without waiting, cut in the same way; an empty lease (amount 0) if it is
  // not free now or somebody waits already.
  Lease TryAcquire(int64_t amount) EXCLUDES(mutex_);

  int64_t capacity() const { return capacity_; }
  int64_t used() const EXCLUDES(mutex_);
  int64_t peak() const EXCLUDES(mutex_);  // The most that was ever used.
  size_t waiting() const EXCLUDES(mutex_);

 private:
  friend class Lease;
  struct Waiter {
    const int64_t amount;
    bool granted = false;
    base::CondVar changed{};
  };

  int64_t Cut(int64_t amount) const;
  bool Fits(int64_t amount) const REQUIRES(mutex_);
  void Take(int64_t amount) REQUIRES(mutex_);
  void Grant() REQUIRES(mutex_);
  void Return(int64_t amount) EXCLUDES(mutex_);

  const int64_t capacity_;
  mutable base::Mutex mutex_;
  int64_t used_ GUARDED_BY(mutex_) = 0;
  int64_t peak_ GUARDED_BY(mutex_) = 0;
  std::deque<Waiter*> waiters_ GUARDED_BY(mutex_);
};

}  // namespace casemate::work
