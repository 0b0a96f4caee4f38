// A load on a gRPC server: many calls on raw messages, some at once.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace casemate::bench {

struct Load {
  std::string path;  // "/package.Service/Method".
  int calls = 1;
  int width = 64;  // At once.
  // Message `message` of call `call`, the first being 0; the last is sent with
  // the half-close.
  std::function<grpc::ByteBuffer(int call, int message)> request;
  int requests = 1;  // Messages of each call.
  // What each answer must come to; -1: whatever comes.
  int64_t answer_bytes = -1;
  int64_t answer_at_least = 0;  // The same, where only this much is known.
};

// Over the raw callback API, as the quickest client there is: what is measured
// is the server. Every call must end with OK.
class LoadClient {
 public:
  LoadClient(const std::string& address, int channels);

  double Run(const Load& load);  // Seconds.

 private:
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
};

grpc::ByteBuffer ToBuffer(const std::string& text);

}  // namespace casemate::bench
