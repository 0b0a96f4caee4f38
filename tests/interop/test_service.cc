#include "interop/test_service.h"

#include <chrono>
#include <deque>
#include <string>
#include <utility>

#include "rpc/simple.h"
#include "test.pb.h"

namespace casemate::interop {
namespace {

using namespace grpc::testing;

void EchoMetadata(rpc::Call& call) {
  for (const auto& [name, value] : call.info().metadata) {
    if (name == "x-grpc-test-echo-initial") call.AddHeader(name, value);
    if (name == "x-grpc-test-echo-trailing-bin") call.AddTrailer(name, value);
  }
}

rpc::Status ToStatus(const EchoStatus& status) {
  return {static_cast<Code>(status.code()), status.message()};
}

template <typename Response>
rpc::Message Encode(const Response& response) {
  return rpc::Message(Bytes::FromString(response.SerializeAsString()));
}

template <typename Request>
bool Decode(const rpc::Message& message, Request& request) {
  const Bytes bytes = message.Joined();
  return request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

tl::expected<Empty, rpc::Status> EmptyCall(const rpc::Call&, const Empty&) {
  return Empty();
}

tl::expected<SimpleResponse, rpc::Status> UnaryCall(
    const rpc::Call&, const SimpleRequest& request) {
  if (request.response_status().code() != 0) {
    return tl::unexpected(ToStatus(request.response_status()));
  }
  SimpleResponse response;
  const auto size = static_cast<size_t>(request.response_size());
  response.mutable_payload()->set_body(std::string(size, '\0'));
  return response;
}

class StreamingInput : public rpc::Handler {
 public:
  explicit StreamingInput(rpc::Call& call) : call_(call) { call_.Read(); }

  void OnMessage(rpc::Message message) override {
    StreamingInputCallRequest request;
    if (!Decode(message, request)) {
      return call_.Finish({Code::kInvalidArgument, "not a request"});
    }
    sum_ += request.payload().body().size();
    call_.Read();
  }

  void OnHalfClose() override {
    StreamingInputCallResponse response;
    response.set_aggregated_payload_size(static_cast<int>(sum_));
    call_.FinishWith(Encode(response));
  }

 private:
  rpc::Call& call_;
  size_t sum_ = 0;
};

// FullDuplexCall, and StreamingOutputCall as its form with one request: each
// request is answered before the next is read.
class StreamingOutput : public rpc::Handler {
 public:
  explicit StreamingOutput(rpc::Call& call) : call_(call) { call_.Read(); }

  void OnMessage(rpc::Message message) override {
    StreamingOutputCallRequest request;
    if (!Decode(message, request)) {
      return call_.Finish({Code::kInvalidArgument, "not a request"});
    }
    for (const auto& each : request.response_parameters()) {
      answers_.push_back(each);
    }
    status_ = ToStatus(request.response_status());
    Next();
  }

  void OnHalfClose() override { call_.Finish({}); }
  void OnSent() override { Next(); }
  void OnWake() override { Send(); }

 private:
  void Next() {
    if (answers_.empty()) {
      return status_.ok() ? call_.Read() : call_.Finish(status_);
    }
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::microseconds(answers_.front().interval_us()));
    wait.count() > 0 ? call_.WakeAfter(wait) : Send();
  }

  void Send() {
    StreamingOutputCallResponse response;
    const auto size = static_cast<size_t>(answers_.front().size());
    answers_.pop_front();
    response.mutable_payload()->set_body(std::string(size, '\0'));
    call_.Write(Encode(response));
  }

  rpc::Call& call_;
  std::deque<ResponseParameters> answers_;
  rpc::Status status_;
};

}  // namespace

std::unique_ptr<rpc::Handler> TestService::Start(std::string_view method,
                                                 rpc::Call& call) {
  EchoMetadata(call);
  if (method == "EmptyCall") {
    return rpc::StartUnary(call, rpc::OverMessages<Empty, Empty>(EmptyCall));
  }
  if (method == "UnaryCall") {
    return rpc::StartUnary(
        call, rpc::OverMessages<SimpleRequest, SimpleResponse>(UnaryCall));
  }
  if (method == "StreamingInputCall") {
    return std::make_unique<StreamingInput>(call);
  }
  if (method == "StreamingOutputCall" || method == "FullDuplexCall") {
    return std::make_unique<StreamingOutput>(call);
  }
  return nullptr;
}

}  // namespace casemate::interop
