// The server that gRPC carries.
#pragma once

#include <memory>
#include <span>

#include "casemate/result.h"
#include "rpc/server.h"
#include "rpc/service.h"
#include "work/pool.h"

namespace casemate::rpc {

// Listens on all of `options.listeners` and serves `services`, whose tasks run
// on `pool`; both outlive the server. kInvalidArgument for a listener that is
// none, kUnavailable if somebody else listens there already, with the reason.
Result<std::unique_ptr<Server>> MakeGrpcServer(
    const ServerOptions& options, std::span<Service* const> services,
    work::Pool& pool);

}  // namespace casemate::rpc
