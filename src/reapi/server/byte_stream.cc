#include "reapi/server/byte_stream.h"

#include "reapi/server/byte_stream_query.h"
#include "reapi/server/byte_stream_read.h"
#include "reapi/server/byte_stream_write.h"

namespace casemate::reapi {

ByteStream::ByteStream(const ServerParts& parts)
    : small_writes_(parts.pool, parts.arrivals),
      parts_{parts, small_writes_, uploads_} {}

std::unique_ptr<rpc::Handler> ByteStream::Start(std::string_view method,
                                                rpc::Call& call) {
  if (method == "Read") return std::make_unique<ReadCall>(parts_, call);
  if (method == "Write") return std::make_unique<WriteCall>(parts_, call);
  if (method == "QueryWriteStatus") return StartQueryWriteStatus(parts_, call);
  return nullptr;
}

}  // namespace casemate::reapi
