#include "cli/exit_code.h"

namespace casemate::cli {

Exit ExitCode(Code code) {
  switch (code) {
    case Code::kOk: return kDone;
    case Code::kCancelled: return kInterrupted;
    case Code::kInvalidArgument: return kUsage;
    case Code::kNotFound: return kNotFound;
    case Code::kDataLoss: return kIntegrity;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kAborted:
    case Code::kUnknown:
    case Code::kInternal: return kUnreachable;
    case Code::kAlreadyExists:
    case Code::kPermissionDenied:
    case Code::kResourceExhausted:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kUnauthenticated: return kRefused;
  }
  return kUnreachable;
}

}  // namespace casemate::cli
