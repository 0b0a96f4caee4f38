// CallCore: the part of a Call that is the same on every wire.
//
// It stands between the wire, whose events come from any thread at any time,
// and the handler, which hears them one after the other. A carrier (rpc/grpc/,
// testing/) derives from it, tells it what the wire did, and does what it asks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

#include "rpc/call.h"
#include "rpc/call_hub.h"
#include "rpc/service.h"

namespace casemate::rpc {

// One thread at a time holds the call: a bit in `state_` says so. Whoever finds
// it free takes it, tells the handler what happened, and lets go when nothing
// is left; whoever finds it held leaves a bit behind, which the holder deals
// with. So an event costs three atomic operations and never a lock, a wire that
// answers within Read does not recurse, and a task given to Offload simply
// carries the hold with it to the pool.
//
// Made with new, held; Begin starts it. It deletes itself once the handler is
// gone and the wire has said Gone.
class CallCore : public Call {
 public:
  CallCore(const CallCore&) = delete;
  CallCore& operator=(const CallCore&) = delete;

  const CallInfo& info() const final { return info_; }
  const Context& context() const final { return context_; }
  void Read() final;
  void AddHeader(std::string name, std::string value) final;
  void AddTrailer(std::string name, std::string value) final;
  void Write(Message message) final;
  void Finish(Status status) final;
  void FinishWith(Message message) final;
  void Offload(std::function<void()> task) final;
  Waker waker() final;
  void WakeAfter(std::chrono::milliseconds delay) final;
  void SetIdleLimit(std::chrono::milliseconds limit) final;

  // Starts the handler; the last use of the call by whoever made it. Ends it
  // with kUnimplemented if `service` is null or has no such method.
  void Begin(Service* service);

  // The call is over, because of `why`; from any thread. The first one counts.
  // If the handler has finished already, what is unsent is given up.
  void Cancel(Status why);

 protected:
  CallCore(CallHub& hub, CallInfo info,
           std::chrono::steady_clock::time_point deadline);
  ~CallCore() override = default;

  // What the wire tells, from any thread, also from within the functions below.
  void Arrived(Message message);  // Answers WireRead,
  void HalfClosed();              // as this does.
  void Sent();                    // Answers WireWrite.
  void Gone();  // After WireFinish: the wire will not touch the call again.

  // Keeps the object, though not the call, alive. Ref only while it is known
  // to be: before Gone.
  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Unref();

  // Tells the handler what waits to be told. By the thread that holds the call;
  // it does not afterwards, and the call may be deleted.
  void Drain();

  // Drains, for a thread that got hold of the call by an event or at the end of
  // a task. A wire that keeps its calls to one thread hands it over to that.
  virtual void Resume() { Drain(); }

  // What was added so far. For WireWrite and WireFinish, the trailers for
  // WireFinish alone: by then the handler adds nothing to them.
  const Metadata& headers() const { return headers_; }
  const Metadata& trailers() const { return trailers_; }

  // What the wire is asked, by the thread that holds the call. All return at
  // once.
  virtual void WireRead() = 0;
  virtual void WireWrite(Message message) = 0;
  // Sends what was written, then `last` unless it is null, then the status.
  // Once.
  virtual void WireFinish(const Status& status, Message* last) = 0;
  // After WireFinish: drops what the peer does not take, so that Gone comes.
  virtual void WireAbort() = 0;

 private:
  friend class CallHub;
  struct Link;

  enum Event : uint32_t {
    kHeld = 1,
    kCancel = 2,
    kSent = 4,
    kMessage = 8,
    kHalfClose = 16,
    kWake = 32,
    kAbort = 64,
    kGone = 128,
  };

  void Post(Event event);
  void TellNext();
  void TellCancel();
  void DropArrived();
  void RunTask();
  bool Take(Event event);
  void EndWith(Status status, Message* last);
  void Die();
  void CountOut(const Message& message);

  // For the hub.
  void Wake() { Post(kWake); }
  bool Expired(uint32_t tick) const;
  void Expire();

  CallHub& hub_;
  const CallInfo info_;
  std::stop_source stop_;
  const Context context_;
  const std::chrono::steady_clock::time_point started_;

  std::atomic<uint32_t> state_{kHeld};
  std::atomic<int> refs_{1};
  std::atomic<bool> cancelled_{false};
  // Since which tick the peer has owed us an answer; 0: it does not.
  std::atomic<uint32_t> read_since_{0};
  std::atomic<uint32_t> write_since_{0};
  std::atomic<uint32_t> idle_ticks_;

  Message arrived_;       // The wire's until kMessage is posted.
  Status cancel_status_;  // Whoever set cancelled_'s, until kCancel is.

  // The holder's.
  uint32_t pending_ = 0;
  bool ended_ = false;
  bool has_wake_ = false;
  std::unique_ptr<Handler> handler_;
  std::function<void()> task_;
  std::shared_ptr<Link> link_;
  Metadata headers_, trailers_;
  Status status_;
  int64_t messages_in_ = 0, bytes_in_ = 0;
  int64_t messages_out_ = 0, bytes_out_ = 0;

  // The hub's, under its locks.
  CallCore* previous_ = nullptr;
  CallCore* next_ = nullptr;
  std::chrono::steady_clock::time_point wake_at_{};
};

}  // namespace casemate::rpc
