// Messages to gRPC's buffers and back, without copying what is large.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "casemate/result.h"
#include "rpc/message.h"

namespace casemate::rpc {

// The pieces keep gRPC's slices alive; `buffer` is left empty. What the client
// has compressed (gzip, deflate) is inflated: to more than `limit` bytes it is
// kResourceExhausted, and if it is broken, kInternal.
Result<Message> FromGrpc(grpc::ByteBuffer& buffer, int64_t limit);

// The slices keep the message alive, all of them together.
grpc::ByteBuffer ToGrpc(Message message);

}  // namespace casemate::rpc
