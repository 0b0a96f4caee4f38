#include "rpc/call_core.h"

#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "rpc/server.h"

namespace casemate::rpc {

// What wakers share with the call: it outlives the call, and knows when.
struct CallCore::Link {
  base::Mutex mutex;
  CallCore* call GUARDED_BY(mutex) = nullptr;
  std::atomic<bool> queued{false};

  // The hub outlives the call, and the call the lock.
  static void Wake(const std::shared_ptr<Link>& link) EXCLUDES(link->mutex) {
    if (link->queued.exchange(true)) return;
    base::MutexLock lock(link->mutex);
    if (link->call == nullptr) return;
    link->call->Ref();
    link->call->hub_.Post([link, call = link->call] {
      link->queued = false;
      call->Wake();
      call->Unref();
    });
  }
};

CallCore::CallCore(CallHub& hub, CallInfo info,
                   std::chrono::steady_clock::time_point deadline)
    : hub_(hub),
      info_(std::move(info)),
      context_{deadline, stop_.get_token()},
      started_(hub.clock().Now()),
      idle_ticks_(hub.idle_ticks()) {
  hub_.Add(*this);
}

// ---- The handler's side.

void CallCore::Read() {
  if (ended_) return;
  read_since_.store(hub_.tick(), std::memory_order_relaxed);
  WireRead();
}

void CallCore::AddHeader(std::string name, std::string value) {
  headers_.emplace_back(std::move(name), std::move(value));
}

void CallCore::AddTrailer(std::string name, std::string value) {
  trailers_.emplace_back(std::move(name), std::move(value));
}

void CallCore::Write(Message message) {
  if (ended_) return;
  CountOut(message);
  write_since_.store(hub_.tick(), std::memory_order_relaxed);
  WireWrite(std::move(message));
}

void CallCore::Finish(Status status) { EndWith(std::move(status), nullptr); }

void CallCore::FinishWith(Message message) {
  if (ended_) return;
  CountOut(message);
  EndWith({}, &message);
}

void CallCore::EndWith(Status status, Message* last) {
  if (ended_) return;
  ended_ = true;
  status_ = std::move(status);
  // The peer has to take the rest in time, too, whatever the handler allowed.
  if (idle_ticks_ == 0) idle_ticks_ = hub_.idle_ticks();
  read_since_.store(0, std::memory_order_relaxed);
  write_since_.store(hub_.tick(), std::memory_order_relaxed);
  WireFinish(status_, last);
}

void CallCore::Offload(std::function<void()> task) {
  CASEMATE_CHECK(!task_);
  task_ = std::move(task);  // Drain takes it from here.
}

Waker CallCore::waker() {
  if (!link_) {
    link_ = std::make_shared<Link>();
    base::MutexLock lock(link_->mutex);
    link_->call = this;
  }
  return [link = link_] { Link::Wake(link); };
}

void CallCore::WakeAfter(std::chrono::milliseconds delay) {
  if (delay.count() == 0 && !has_wake_) return;
  has_wake_ = true;
  hub_.WakeAfter(*this, delay);
}

void CallCore::SetIdleLimit(std::chrono::milliseconds limit) {
  idle_ticks_ = CallHub::ToTicks(limit);
}

void CallCore::CountOut(const Message& message) {
  ++messages_out_;
  bytes_out_ += static_cast<int64_t>(message.size());
}

// ---- The wire's side.

void CallCore::Begin(Service* service) {
  if (hub_.closed()) {
    Finish(Status(Code::kUnavailable, "the server is shutting down"));
  } else if (service != nullptr) {
    const std::string_view path = info_.method;
    handler_ = service->Start(path.substr(path.rfind('/') + 1), *this);
  }
  if (!handler_ && !ended_) {
    Finish(Status(Code::kUnimplemented, "no such method: " + info_.method));
  }
  Drain();
}

void CallCore::Arrived(Message message) {
  read_since_.store(0, std::memory_order_relaxed);
  arrived_ = std::move(message);
  Post(kMessage);
}

void CallCore::HalfClosed() {
  read_since_.store(0, std::memory_order_relaxed);
  Post(kHalfClose);
}

void CallCore::Sent() {
  write_since_.store(0, std::memory_order_relaxed);
  Post(kSent);
}

void CallCore::Gone() { Post(kGone); }

void CallCore::Cancel(Status why) {
  if (cancelled_.exchange(true)) return;
  cancel_status_ = std::move(why);
  stop_.request_stop();
  Post(kCancel);
}

// ---- The hold.

void CallCore::Post(Event event) {
  const uint32_t before =
      state_.fetch_or(event | kHeld, std::memory_order_acq_rel);
  if ((before & kHeld) == 0) Resume();
}

void CallCore::Drain() {
  for (;;) {
    if (task_) return hub_.pool().Run([this] { RunTask(); });
    if (state_.load(std::memory_order_relaxed) != kHeld) {
      pending_ |= state_.exchange(kHeld, std::memory_order_acq_rel) & ~kHeld;
    }
    if (ended_ && handler_) {
      handler_.reset();
    } else if (ended_ && (pending_ & kGone) != 0) {
      return Die();
    } else if (pending_ != 0) {
      TellNext();
    } else if (uint32_t held = kHeld; state_.compare_exchange_strong(
                   held, 0, std::memory_order_acq_rel)) {
      return;
    }
  }
}

void CallCore::RunTask() {
  std::exchange(task_, nullptr)();  // What it holds ends here as well.
  Resume();
}

bool CallCore::Take(Event event) {
  const bool taken = (pending_ & event) != 0;
  pending_ &= ~event;
  return taken;
}

void CallCore::TellNext() {
  if (Take(kCancel)) return ended_ ? WireAbort() : TellCancel();
  if (Take(kAbort) && ended_) return WireAbort();
  if (ended_) {
    DropArrived();
    pending_ &= kGone;
  } else if (Take(kSent)) {
    handler_->OnSent();
  } else if (Take(kMessage)) {
    ++messages_in_;
    bytes_in_ += static_cast<int64_t>(arrived_.size());
    handler_->OnMessage(std::exchange(arrived_, {}));
  } else if (Take(kHalfClose)) {
    handler_->OnHalfClose();
  } else if (Take(kWake)) {
    handler_->OnWake();
  }
}

void CallCore::TellCancel() {
  ended_ = true;
  status_ = cancel_status_;
  DropArrived();
  handler_->OnCancel();
  // A write that is stuck would hold up the status for ever.
  const bool stuck = write_since_.load(std::memory_order_relaxed) != 0;
  ended_ = false;
  EndWith(cancel_status_, nullptr);
  if (stuck) WireAbort();
}

// Only once it is announced: until then it is the wire's.
void CallCore::DropArrived() {
  if (Take(kMessage)) arrived_ = {};
}

void CallCore::Die() {
  if (link_) {
    base::MutexLock lock(link_->mutex);
    link_->call = nullptr;
  }
  if (CallObserver* const observer = hub_.observer()) {
    observer->OnEnd({info_, status_, hub_.clock().Now() - started_,
                     messages_in_, bytes_in_, messages_out_, bytes_out_});
  }
  hub_.Remove(*this);
  Unref();
}

void CallCore::Unref() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  CallHub& hub = hub_;
  CallHub::Shard& shard = hub.ShardOf(*this);
  delete this;
  hub.Forget(shard);
}

// ---- The hub's side.

bool CallCore::Expired(uint32_t tick) const {
  const uint32_t limit = idle_ticks_.load(std::memory_order_relaxed);
  if (limit == 0) return false;
  const auto late = [&](const std::atomic<uint32_t>& since) {
    const uint32_t start = since.load(std::memory_order_relaxed);
    return start != 0 && tick - start > limit;
  };
  return late(read_since_) || late(write_since_);
}

void CallCore::Expire() {
  if (!cancelled_.load()) {
    return Cancel(Status(Code::kDeadlineExceeded,
                         "the peer has neither sent nor taken anything for "
                         "longer than the idle limit"));
  }
  // It has been told already: what hangs now is the end itself.
  read_since_.store(0, std::memory_order_relaxed);
  write_since_.store(hub_.tick(), std::memory_order_relaxed);
  Post(kAbort);
}

}  // namespace casemate::rpc
