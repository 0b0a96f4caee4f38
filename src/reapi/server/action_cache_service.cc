#include "reapi/server/action_cache_service.h"

namespace casemate::reapi {

std::unique_ptr<rpc::Handler> ActionCacheService::Start(std::string_view method,
                                                        rpc::Call& call) {
  if (method == "GetActionResult") return StartGetActionResult(call, parts_);
  if (method == "UpdateActionResult") {
    return StartUpdateActionResult(call, parts_);
  }
  return nullptr;
}

}  // namespace casemate::reapi
