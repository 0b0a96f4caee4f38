// MemoryCall: a client that calls a service in memory, message by message.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rpc/call.h"
#include "rpc/call_hub.h"
#include "rpc/service.h"
#include "work/pool.h"

namespace casemate::testing {

using rpc::Metadata;

// One call of `path` ("/package.Service/Method"), from the client's side. The
// service's events run on a thread of the call's own, as on a wire, and what it
// offloads on `pool`. The client's functions belong to one thread. A message
// stays in the "wire" until the handler asks for it, and an answer until
// Receive takes it; only then is the handler told that it was sent. So flow
// control can be tested.
class MemoryCall {
 public:
  MemoryCall(rpc::Service& service, std::string_view path, work::Pool& pool,
             Metadata metadata = {});
  ~MemoryCall();  // Cancels the call if it has not ended; waits for its end.

  void Send(std::string message);                    // In one piece,
  void SendPieces(std::vector<std::string> pieces);  // or cut like this.
  void HalfClose();
  void Cancel();

  // The next answer; nullopt once the call has ended and all were taken. Waits
  // (at most 20 s, then the test fails).
  std::optional<std::string> Receive();

  // The status, once the call has ended; takes what was not received.
  rpc::Status Wait();

  // Whether the handler has asked for a message that was not sent yet: waits
  // until it has, so that a test knows that all before was dealt with.
  void WaitUntilReading();

  bool ended() const;  // The handler is gone by then.
  // All that Receive has taken, with their pieces.
  const std::vector<rpc::Message>& answers() const { return answers_; }

 private:
  class Wire;
  struct Line;

  std::optional<rpc::Message> Take();

  rpc::CallHub hub_;
  const std::shared_ptr<Line> line_;
  std::vector<rpc::Message> answers_;
};

// The whole of a call with one request and one answer.
struct UnaryResult {
  rpc::Status status;
  std::string answer;
};
UnaryResult CallUnary(rpc::Service& service, std::string_view path,
                      std::string request, work::Pool& pool,
                      Metadata metadata = {});

}  // namespace casemate::testing
