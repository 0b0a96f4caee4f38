// GrpcCall: a call that gRPC carries.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <atomic>
#include <chrono>

#include "rpc/call_core.h"

namespace casemate::rpc {

struct GrpcCallOptions {
  bool peer = false;  // Whether info() tells it: it costs gRPC a string.
  int64_t max_request_bytes = 0;  // Of one message, inflated.
};

// Lives until gRPC has called its reactor's OnDone and the handler is gone.
class GrpcCall final : public CallCore {
 public:
  GrpcCall(CallHub& hub, grpc::GenericCallbackServerContext& context,
           const GrpcCallOptions& options);

  // What gRPC tells its events to. Give it to gRPC before anything else is
  // done with the call that is not Begin.
  grpc::ServerGenericBidiReactor* reactor() { return &reactor_; }

 private:
  class Reactor final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Reactor(GrpcCall& call) : call_(call) {}
    void OnReadDone(bool ok) override { call_.ReadDone(ok); }
    void OnWriteDone(bool ok) override { call_.WriteDone(ok); }
    void OnCancel() override { call_.Lost(); }
    void OnDone() override { call_.Gone(); }

   private:
    GrpcCall& call_;
  };

  ~GrpcCall() override;

  void WireRead() override;
  void WireWrite(Message message) override;
  void WireFinish(const Status& status, Message* last) override;
  void WireAbort() override;

  void ReadDone(bool ok);
  void WriteDone(bool ok);
  void Lost();
  void FinishNow();
  void GiveHeaders();

  const int64_t max_request_bytes_;
  Reactor reactor_{*this};
  grpc::CallbackServerContext& grpc_context_;  // Until OnDone.
  grpc_call* const grpc_call_;                 // A reference of our own.

  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;

  // gRPC takes one write at a time, and no end while one is under way: it waits
  // in these until then.
  enum class Sending { kNothing, kMessage, kMessageThenEnd };
  std::atomic<Sending> sending_{Sending::kNothing};
  const Status* end_ = nullptr;
  bool has_last_ = false;
  bool headers_given_ = false;
  Message last_;
};

}  // namespace casemate::rpc
