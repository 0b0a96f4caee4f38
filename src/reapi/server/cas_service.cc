#include "reapi/server/cas_service.h"

namespace casemate::reapi {

std::unique_ptr<rpc::Handler> CasService::Start(std::string_view method,
                                                rpc::Call& call) {
  if (method == "FindMissingBlobs") return StartFindMissing(call, parts_);
  if (method == "BatchReadBlobs") return StartBatchRead(call, parts_);
  if (method == "BatchUpdateBlobs") return StartBatchUpdate(call, parts_);
  if (method == "GetTree") return StartGetTree(call, parts_);
  return nullptr;
}

}  // namespace casemate::reapi
