// From a store's errors to what the protocol answers.
#pragma once

#include <span>
#include <string_view>

#include "casemate/digest.h"
#include "casemate/result.h"
#include "reapi/wire/batch_messages.h"
#include "rpc/status.h"

namespace casemate::reapi {

// How an upload ends whose store said `error`: bytes that do not fit the digest
// or the size are the client's fault, and
// never kAlreadyExists (D-04).
Error UploadError(Error error);

// The same as one item's status in a batch.
ItemStatus ToItemStatus(const Error& error);

// kFailedPrecondition with one violation for each missing blob in its details
// as many as fit into a trailer.
rpc::Status MissingBlobs(std::string_view message,
                         std::span<const Digest> missing);

}  // namespace casemate::reapi
