#include "rpc/grpc/grpc_call.h"

#include <grpc/grpc.h>
#include <grpc/support/time.h>

#include <utility>

#include "rpc/grpc/byte_buffer.h"

namespace casemate::rpc {
namespace {

using Time = std::chrono::steady_clock::time_point;

// Both clocks are CLOCK_MONOTONIC.
Time ToTime(gpr_timespec deadline) {
  const gpr_timespec time =
      gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC);
  if (gpr_time_cmp(time, gpr_inf_future(GPR_CLOCK_MONOTONIC)) == 0) {
    return Time::max();
  }
  return Time(std::chrono::seconds(time.tv_sec) +
              std::chrono::nanoseconds(time.tv_nsec));
}

CallInfo ToInfo(const grpc::GenericCallbackServerContext& context, bool peer) {
  CallInfo info;
  info.method = context.method();
  if (peer) info.peer = context.peer();
  const auto& metadata = context.client_metadata();
  info.metadata.reserve(metadata.size());
  for (const auto& [name, value] : metadata) {
    info.metadata.emplace_back(
        std::piecewise_construct,
        std::forward_as_tuple(name.data(), name.size()),
        std::forward_as_tuple(value.data(), value.size()));
  }
  return info;
}

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return {};
  return {static_cast<grpc::StatusCode>(status.code), status.message,
          status.details};
}

}  // namespace

GrpcCall::GrpcCall(CallHub& hub, grpc::GenericCallbackServerContext& context,
                   const GrpcCallOptions& options)
    : CallCore(hub, ToInfo(context, options.peer),
               ToTime(context.raw_deadline())),
      max_request_bytes_(options.max_request_bytes),
      grpc_context_(context),
      grpc_call_(context.c_call()) {
  grpc_call_ref(grpc_call_);
}

GrpcCall::~GrpcCall() { grpc_call_unref(grpc_call_); }

void GrpcCall::WireRead() { reactor_.StartRead(&incoming_); }

void GrpcCall::ReadDone(bool ok) {
  if (ok) {
    Result<Message> message = FromGrpc(incoming_, max_request_bytes_);
    if (!message) return Cancel(std::move(message).error());
    return Arrived(std::move(*message));
  }
  // gRPC says "no more" for a half-close and for a broken call alike. (For one
  // that a message above the limit breaks it says so before the call counts as
  // cancelled; the client then hears RESOURCE_EXHAUSTED, whatever we answer.)
  if (grpc_context_.IsCancelled()) return Lost();
  HalfClosed();
}

// gRPC codes those that end in "-bin" itself.
void GrpcCall::GiveHeaders() {
  if (std::exchange(headers_given_, true)) return;
  for (const auto& [name, value] : headers()) {
    grpc_context_.AddInitialMetadata(name, value);
  }
}

void GrpcCall::WireWrite(Message message) {
  GiveHeaders();
  outgoing_ = rpc::ToGrpc(std::move(message));
  sending_ = Sending::kMessage;
  reactor_.StartWrite(&outgoing_);
}

void GrpcCall::WriteDone(bool ok) {
  outgoing_.Clear();
  if (sending_.exchange(Sending::kNothing) == Sending::kMessageThenEnd) {
    return FinishNow();
  }
  ok ? Sent() : Lost();
}

void GrpcCall::WireFinish(const Status& status, Message* last) {
  GiveHeaders();
  for (const auto& [name, value] : trailers()) {
    grpc_context_.AddTrailingMetadata(name, value);
  }
  end_ = &status;
  has_last_ = last != nullptr;
  if (has_last_) last_ = std::move(*last);
  Sending sending = Sending::kMessage;
  if (!sending_.compare_exchange_strong(sending, Sending::kMessageThenEnd)) {
    FinishNow();
  }
}

void GrpcCall::FinishNow() {
  if (!has_last_) return reactor_.Finish(ToGrpc(*end_));
  outgoing_ = rpc::ToGrpc(std::exchange(last_, {}));
  reactor_.StartWriteAndFinish(&outgoing_, {}, ToGrpc(*end_));
}

// Whatever is under way fails at once, and what waits for it goes on.
void GrpcCall::WireAbort() { grpc_call_cancel(grpc_call_, nullptr); }

void GrpcCall::Lost() {
  if (std::chrono::steady_clock::now() >= context().deadline) {
    return Cancel(Status(Code::kDeadlineExceeded, "the deadline has passed"));
  }
  Cancel(Status(Code::kCancelled, "the client has gone"));
}

}  // namespace casemate::rpc
