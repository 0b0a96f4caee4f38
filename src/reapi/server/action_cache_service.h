// The service build.bazel.remote.execution.v2.ActionCache.
#pragma once

#include <memory>
#include <string_view>

#include "reapi/server/cas_call.h"
#include "rpc/service.h"

namespace casemate::reapi {

class ActionCacheService : public rpc::Service {
 public:
  explicit ActionCacheService(const ServerParts& parts) : parts_(parts) {}

  std::string_view name() const override {
    return "build.bazel.remote.execution.v2.ActionCache";
  }
  std::unique_ptr<rpc::Handler> Start(std::string_view method,
                                      rpc::Call& call) override;

 private:
  const ServerParts parts_;
};

// Its methods.
std::unique_ptr<rpc::Handler> StartGetActionResult(rpc::Call& call,
                                                   const ServerParts& parts);
std::unique_ptr<rpc::Handler> StartUpdateActionResult(rpc::Call& call,
                                                      const ServerParts& parts);

}  // namespace casemate::reapi
