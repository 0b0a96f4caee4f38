// Status: how a call ended.
#pragma once

#include <string>
#include <utility>

#include "casemate/result.h"

namespace casemate::rpc {

// `code` and `message` as in gRPC; kOk is the default. `details` is a
// serialized google.rpc.Status of the same code, or empty; it travels in the
// trailer grpc-status-details-bin.
struct Status {
  Code code = Code::kOk;
  std::string message;
  std::string details;

  Status() = default;
  Status(Code c, std::string m) : code(c), message(std::move(m)) {}
  Status(Error error)  // NOLINT: implicit by design.
      : code(error.code), message(std::move(error.message)) {}

  bool ok() const { return code == Code::kOk; }
};

}  // namespace casemate::rpc
