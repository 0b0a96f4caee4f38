// A gRPC client for tests: one call, step by step, on raw messages.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace casemate::rpc {

std::shared_ptr<grpc::Channel> Connect(const std::string& address);

// All waits are for at most 20 s; then the test fails.
class ClientCall {
 public:
  using Metadata = std::vector<std::pair<std::string, std::string>>;
  struct Options {
    Metadata metadata = {};
    std::chrono::milliseconds timeout{0};  // 0: none.
    grpc_compression_algorithm compression = GRPC_COMPRESS_NONE;
  };

  ClientCall(const std::shared_ptr<grpc::Channel>& channel,
             const std::string& path)
      : ClientCall(channel, path, Options{}) {}
  ClientCall(const std::shared_ptr<grpc::Channel>& channel,
             const std::string& path, Options options);
  ~ClientCall();

  bool Write(const std::string& message);
  void StartWrite(const std::string& message);  // Without waiting.
  bool HalfClose();
  std::optional<std::string> Read();  // nullopt: no more.
  void Cancel() { context_.TryCancel(); }
  grpc::Status Finish();  // Waits for the end; drops what was not read.
  grpc::ClientContext& context() { return context_; }

 private:
  enum Tag : intptr_t { kStart, kWrite, kHalfClose, kRead, kFinish };
  void* As(Tag tag);
  bool Await(Tag tag);

  std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  std::set<intptr_t> started_;
  std::map<intptr_t, bool> done_;
  grpc::ByteBuffer sending_, reading_;
  grpc::Status status_;
};

// A whole unary call.
struct UnaryReply {
  grpc::Status status;
  std::string answer;
};
UnaryReply CallUnary(const std::shared_ptr<grpc::Channel>& channel,
                     const std::string& path, const std::string& request,
                     ClientCall::Options options = {});

}  // namespace casemate::rpc
