// The simple form of a service: request message in, response message out.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/try.h"
#include "casemate/bytes.h"
#include "casemate/context.h"
#include "casemate/result.h"
#include "rpc/call.h"
#include "rpc/message.h"
#include "rpc/service.h"

namespace casemate::rpc {

// What a unary method gives: a message, or how the call ends without one.
using Answer = tl::expected<Message, Status>;

// Serves one unary call on a thread of the pool; may block.
using Unary = std::function<Answer(const Call& call, const Bytes& request)>;

// A handler that reads the one request message (none, or several, is
// kUnimplemented as gRPC has it), and runs `unary` through Call::Offload.
std::unique_ptr<Handler> StartUnary(Call& call, Unary unary);

// The same for a function that never blocks: it runs in place, on a thread of
// the wire, and answers also when the pool is busy.
std::unique_ptr<Handler> StartUnaryInPlace(Call& call, Unary unary);

// Wraps a function over generated messages: Result<Response>(const Call&,
// const Request&). A request that does not parse is kInvalidArgument.
template <typename Request, typename Response, typename Function>
Unary OverMessages(Function function) {
  return [function = std::move(function)](const Call& call,
                                          const Bytes& bytes) -> Answer {
    Request request;
    if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return tl::unexpected(
          Status(Code::kInvalidArgument,
                 "the request is no " + Request::descriptor()->name()));
    }
    tl::expected<Response, Status> response = function(call, request);
    if (!response) return tl::unexpected(std::move(response).error());
    return Message(Bytes::FromString(response->SerializeAsString()));
  };
}

}  // namespace casemate::rpc
