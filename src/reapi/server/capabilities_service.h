// The service build.bazel.remote.execution.v2.Capabilities.
#pragma once

#include <memory>
#include <string_view>

#include "reapi/server/server_parts.h"
#include "rpc/service.h"

namespace casemate::reapi {

class CapabilitiesService : public rpc::Service {
 public:
  explicit CapabilitiesService(const ServerParts& parts) : parts_(parts) {}

  std::string_view name() const override {
    return "build.bazel.remote.execution.v2.Capabilities";
  }
  std::unique_ptr<rpc::Handler> Start(std::string_view method,
                                      rpc::Call& call) override;

 private:
  const ServerParts parts_;
};

}  // namespace casemate::reapi
