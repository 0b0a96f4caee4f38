// grpc.testing.TestService, for other people's clients.
#pragma once

#include <memory>
#include <string_view>

#include "rpc/service.h"

namespace casemate::interop {

// EmptyCall, UnaryCall, StreamingOutputCall, StreamingInputCall and
// FullDuplexCall; each sends x-grpc-test-echo-initial back in its headers and
// x-grpc-test-echo-trailing-bin in its trailers.
class TestService : public rpc::Service {
 public:
  std::string_view name() const override { return "grpc.testing.TestService"; }
  std::unique_ptr<rpc::Handler> Start(std::string_view method,
                                      rpc::Call& call) override;
};

}  // namespace casemate::interop
