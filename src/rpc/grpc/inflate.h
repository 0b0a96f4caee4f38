// Undoing gRPC's compression of a message, within bounds.
#pragma once

#include <cstdint>

#include "casemate/result.h"
#include "rpc/message.h"

namespace casemate::rpc {

enum class Compression { kGzip, kDeflate };  // The latter in zlib's format.

// kResourceExhausted as soon as more than `limit` bytes come out, kInternal if
// it is broken or incomplete.
//
// gRPC would do it, but looks at the size only when all is inflated: a message
// of 32 MiB can become one of 32 GiB.
Result<Message> Inflate(const Message& message, Compression compression,
                        int64_t limit);

}  // namespace casemate::rpc
