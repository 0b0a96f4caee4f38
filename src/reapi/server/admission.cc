#include "reapi/server/admission.h"

#include <algorithm>

#include "base/check.h"

namespace casemate::reapi {

Admission::Lease& Admission::Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    Release();
    admission_ = std::exchange(other.admission_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void Admission::Lease::Release() {
  if (bytes_ > 0) admission_->GiveBack(std::exchange(bytes_, 0));
}

Admission::Lease Admission::Lease::Split(int64_t bytes) {
  const int64_t part = std::min(bytes, bytes_);
  bytes_ -= part;
  return Lease(admission_, part);
}

Admission::Admission(int64_t capacity, std::chrono::milliseconds patience,
                     const base::Clock& clock)
    : capacity_(capacity), patience_(patience), clock_(clock) {
  CASEMATE_CHECK(capacity > 0);
}

Admission::~Admission() { CASEMATE_CHECK(used() == 0); }

void Admission::Take(int64_t bytes) {
  used_ += bytes;
  peak_ = std::max(peak_, used_);
}

std::optional<Admission::Lease> Admission::TryTake(int64_t bytes) {
  bytes = Cut(bytes);
  base::MutexLock lock(mutex_);
  if (!waiters_.empty() || bytes > capacity_ - used_) return std::nullopt;
  Take(bytes);
  return Lease(this, bytes);
}

// Who waits gets it in order, so that much is not starved by little. Their
// wakers are called once the lock is free.
Admission::Wakers Admission::Grant() {
  Wakers wakers;
  while (!waiters_.empty() && waiters_.front()->bytes <= capacity_ - used_) {
    Waiter& first = *waiters_.front();
    waiters_.pop_front();
    Take(first.bytes);
    first.granted = true;
    wakers.push_back(first.wake);
  }
  return wakers;
}

void Admission::GiveBack(int64_t bytes) {
  Wakers wakers;
  {
    base::MutexLock lock(mutex_);
    used_ -= bytes;
    wakers = Grant();
  }
  for (const rpc::Waker& wake : wakers) wake();
}

int64_t Admission::used() const {
  base::MutexLock lock(mutex_);
  return used_;
}

int64_t Admission::peak() const {
  base::MutexLock lock(mutex_);
  return peak_;
}

size_t Admission::waiting() const {
  base::MutexLock lock(mutex_);
  return waiters_.size();
}

Admission::Turn::Answer Admission::Turn::Ask(int64_t bytes, Lease& lease) {
  if (waiter_ != nullptr) return AskAgain(lease);
  if (bytes == 0) return Answer::kTaken;
  if (auto taken = admission_.TryTake(bytes)) {
    lease = *std::move(taken);
    return Answer::kTaken;
  }
  return Queue(admission_.Cut(bytes), lease);
}

Admission::Turn::Answer Admission::Turn::Queue(int64_t bytes, Lease& lease) {
  waiter_ = std::make_unique<Waiter>(Waiter{bytes, call_.waker()});
  until_ = admission_.clock_.Now() + admission_.patience_;
  {
    base::MutexLock lock(admission_.mutex_);
    admission_.waiters_.push_back(waiter_.get());
    // What was missing may have been given back since TryTake; nobody is woken
    // but this one, if it is the first.
    if (admission_.waiters_.size() == 1) admission_.Grant();
  }
  const Answer answer = AskAgain(lease);
  if (answer == Answer::kWait) call_.WakeAfter(admission_.patience_);
  return answer;
}

Admission::Turn::Answer Admission::Turn::AskAgain(Lease& lease) {
  bool granted = false;
  {
    base::MutexLock lock(admission_.mutex_);
    granted = waiter_->granted;
  }
  if (granted) {
    lease = Lease(&admission_, waiter_->bytes);
    waiter_.reset();
    call_.WakeAfter(std::chrono::milliseconds(0));
    return Answer::kTaken;
  }
  if (admission_.clock_.Now() < until_) return Answer::kWait;
  Leave();
  return Answer::kRefused;
}

void Admission::Turn::Leave() {
  if (waiter_ == nullptr) return;
  Wakers wakers;
  {
    base::MutexLock lock(admission_.mutex_);
    if (waiter_->granted) {
      admission_.used_ -= waiter_->bytes;
    } else {
      std::erase(admission_.waiters_, waiter_.get());
    }
    wakers = admission_.Grant();  // The next may need less.
  }
  waiter_.reset();
  for (const rpc::Waker& wake : wakers) wake();
}

}  // namespace casemate::reapi
