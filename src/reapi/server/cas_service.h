// The service build.bazel.remote.execution.v2.ContentAddressableStorage.
//
// SplitBlob and SpliceBlob are not offered yet: UNIMPLEMENTED.
#pragma once

#include <memory>
#include <string_view>

#include "reapi/server/cas_call.h"
#include "rpc/service.h"

namespace casemate::reapi {

class CasService : public rpc::Service {
 public:
  explicit CasService(const ServerParts& parts) : parts_(parts) {}

  std::string_view name() const override {
    return "build.bazel.remote.execution.v2.ContentAddressableStorage";
  }
  std::unique_ptr<rpc::Handler> Start(std::string_view method,
                                      rpc::Call& call) override;

 private:
  const ServerParts parts_;
};

// Its methods.
std::unique_ptr<rpc::Handler> StartFindMissing(rpc::Call& call,
                                               const ServerParts& parts);
std::unique_ptr<rpc::Handler> StartBatchUpdate(rpc::Call& call,
                                               const ServerParts& parts);
std::unique_ptr<rpc::Handler> StartBatchRead(rpc::Call& call,
                                             const ServerParts& parts);
std::unique_ptr<rpc::Handler> StartGetTree(rpc::Call& call,
                                           const ServerParts& parts);

}  // namespace casemate::reapi
