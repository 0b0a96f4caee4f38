#include "reapi/server/answers.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "reapi/wire/choices.h"
#include "reapi/wire/fields.h"
#include "reapi/wire/resource_name.h"

namespace casemate::reapi {
namespace {

// A trailer of many KiB makes peers drop the whole answer (8 KiB is gRPC's
// limit of all metadata, and base64 takes a third of that).
constexpr size_t kMostDetails = 4096;

// One google.rpc.PreconditionFailure.Violation as a field of its message.
std::string Violation(const Digest& digest) {
  std::string violation;
  AppendBytesField(violation, 1, "MISSING");
  AppendBytesField(violation, 2, ViolationSubject(digest));
  std::string field;
  AppendBytesField(field, 1, violation);
  return field;
}

}  // namespace

Error UploadError(Error error) {
  switch (error.code) {
    case Code::kDataLoss:
    case Code::kOutOfRange: error.code = kBadUpload; break;
    case Code::kAlreadyExists: error.code = Code::kInternal; break;
    default: break;
  }
  return error;
}

ItemStatus ToItemStatus(const Error& error) {
  return {error.code, error.message};
}

rpc::Status MissingBlobs(std::string_view message,
                         std::span<const Digest> missing) {
  std::string failure;
  for (const Digest& digest : missing) {
    const std::string violation = Violation(digest);
    if (failure.size() + violation.size() > kMostDetails) break;
    failure += violation;
  }
  std::string any;
  AppendBytesField(any, 1,
                   "type.googleapis.com/google.rpc.PreconditionFailure");
  AppendBytesField(any, 2, failure);
  rpc::Status status(Code::kFailedPrecondition, std::string(message));
  status.details = FormatStatus(status.code, status.message, {&any, 1});
  return status;
}

}  // namespace casemate::reapi
