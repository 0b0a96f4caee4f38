// Call and Handler: one call, seen from the wire and from the service.
//
// A service never sees a socket, nor gRPC. It gets a Call, and leaves a Handler
// that hears what happens to it. rpc/grpc/ carries calls over gRPC; tests carry
// them in memory (testing/memory_call.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/context.h"
#include "rpc/message.h"
#include "rpc/status.h"

namespace casemate::rpc {

// Header names in lowercase and their values; those whose name ends in "-bin"
// are plain bytes here. In their order; names may repeat.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// What came with the headers. Constant for the life of the call.
struct CallInfo {
  std::string method;  // "/package.Service/Method".
  // "ipv4:127.0.0.1:4711", "unix:"; for logs: empty if nobody observes calls.
  std::string peer;
  Metadata metadata;  // Those of one name are in the order they came.
  // Of the client's certificate, if it was asked for one and the certificate
  // was verified: "CN=worker,O=Example" (RFC 2253). Empty otherwise.
  std::string subject = {};

  // The first value of that name; nullptr if there is none.
  const std::string* Find(std::string_view name) const;
};

// Where a call can be woken from outside: see Call::waker(). May be copied,
// called from any thread, and outlive the call; then it does nothing.
using Waker = std::function<void()>;

// The wire's half of a call. Its methods are called from within the handler's
// own functions and from within functions given to Offload, nowhere else; so at
// any moment either the wire or the pool holds the call, never both. All return
// at once.
class Call {
 public:
  virtual ~Call() = default;

  virtual const CallInfo& info() const = 0;

  // The call's deadline, and a stop that is requested as soon as the client has
  // gone, also while a function given to Offload runs: what it hands to a
  // store.
  virtual const Context& context() const = 0;

  // Asks for the next request message. Exactly one of OnMessage, OnHalfClose,
  // OnCancel answers. Not while another Read is unanswered. Until it is called
  // nothing more is taken from the peer: this is the flow control.
  virtual void Read() = 0;

  // Adds to what the client gets before the first message: before Write and
  // Finish. And to what it gets with the status: before Finish.
  virtual void AddHeader(std::string name, std::string value) = 0;
  virtual void AddTrailer(std::string name, std::string value) = 0;

  // Sends one message. Not again before OnSent, which says that the wire has
  // room for another. `message`'s bytes are released once they are sent.
  virtual void Write(Message message) = 0;

  // Ends the call; nothing is heard of it afterwards. May be called while a
  // Read or a Write is unanswered: what was written is sent first, what still
  // arrives is dropped.
  virtual void Finish(Status status) = 0;

  // The last message and OK in one step.
  virtual void FinishWith(Message message) = 0;

  // Runs `task` on a thread of the I/O pool, where it may block. Until it has
  // returned, none of the handler's functions is called; what happens meanwhile
  // is told afterwards. The task starts when the function that asked for it has
  // returned. One at a time; a task may ask for the next.
  virtual void Offload(std::function<void()> task) = 0;

  // A function that has OnWake called, soon after; calls that come together may
  // be told together.
  virtual Waker waker() = 0;

  // OnWake after `delay`, once; replaces an earlier request. 0: never mind.
  virtual void WakeAfter(std::chrono::milliseconds delay) = 0;

  // How long the peer may keep a Read or a Write unanswered before the call is
  // ended with kDeadlineExceeded (the handler hears OnCancel). The server's
  // setting unless changed here; 0: for ever.
  virtual void SetIdleLimit(std::chrono::milliseconds limit) = 0;
};

// The service's half. No two of its functions, nor a task given to Offload, run
// at the same time, so a handler needs no lock of its own; they run on a thread
// of the wire (what happened while a task ran may also be told on the task's
// thread, right after it), and never block. It is destroyed after Finish or OnCancel,
// once none of them runs.
class Handler {
 public:
  virtual ~Handler() = default;

  virtual void OnMessage(Message message) = 0;  // Answers Read.
  virtual void OnHalfClose() {}  // Answers Read: the client sends no more.
  virtual void OnSent() {}       // Answers Write.
  virtual void OnWake() {}       // A Waker was called, or time has passed.

  // The client left, the deadline passed, or the server stops: exactly once,
  // and not after Finish; whatever else was to be told is dropped. Nothing can
  // be sent any more: Read, Write and Finish do nothing. One task may still be
  // given to Offload, for what has to be cleaned up where it may block.
  virtual void OnCancel() {}
};

}  // namespace casemate::rpc
