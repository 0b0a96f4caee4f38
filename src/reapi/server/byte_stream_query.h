// ByteStream.QueryWriteStatus, and what all three methods ask first.
#pragma once

#include <memory>
#include <string_view>

#include "reapi/server/byte_stream.h"
#include "rpc/call.h"

namespace casemate::reapi {

// kInvalidArgument if the call names another resource in its headers than in
// its request.
Result<void> CheckResourceHeader(const rpc::CallInfo& info,
                                 std::string_view resource_name);

// Drops what a writer has taken so far: it cannot be found again.
void Discard(const Digest& digest, std::unique_ptr<Writer> writer);

std::unique_ptr<rpc::Handler> StartQueryWriteStatus(const StreamParts& parts,
                                                    rpc::Call& call);

}  // namespace casemate::reapi
