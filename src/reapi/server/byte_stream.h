// google.bytestream.ByteStream: blobs as streams, plain and as zstd.
#pragma once

#include <memory>
#include <string_view>

#include "reapi/server/server_parts.h"
#include "reapi/server/small_writes.h"
#include "reapi/server/uploads.h"
#include "rpc/service.h"

namespace casemate::reapi {

// What the calls of one ByteStream share.
struct StreamParts : ServerParts {
  SmallWrites& small_writes;
  Uploads& uploads;
};

// Read, Write and QueryWriteStatus as docs/conformance.md has them. What can be
// answered without waiting is answered on the wire's thread; all else is a task
// of the pool for each chunk.
class ByteStream : public rpc::Service {
 public:
  explicit ByteStream(const ServerParts& parts);

  std::string_view name() const override {
    return "google.bytestream.ByteStream";
  }
  std::unique_ptr<rpc::Handler> Start(std::string_view method,
                                      rpc::Call& call) override;

  // For tests and for counters.
  const SmallWrites& small_writes() const { return small_writes_; }
  const Uploads& uploads() const { return uploads_; }

 private:
  SmallWrites small_writes_;
  Uploads uploads_;
  StreamParts parts_;
};

}  // namespace casemate::reapi
