// AccessLog: one line of JSON for each call.
#pragma once

#include <functional>
#include <string>

#include "rpc/server.h"

namespace casemate::reapi {

// Writes when a call has ended: time, method, peer, status, duration, messages
// and bytes each way, and who called, as far as the request metadata says so
// (tool, invocation, action, target; also under the header's old name). No
// other header is ever written, so no credential is. The line's fields are in
// docs/server.md.
class AccessLog : public rpc::CallObserver {
 public:
  // `write` gets a line without its newline, on any thread, and must not block.
  using Write = std::function<void(std::string line)>;

  explicit AccessLog(Write write) : write_(std::move(write)) {}

  void OnEnd(const rpc::CallRecord& record) override;

 private:
  const Write write_;
};

// The line itself. `when` is in UTC: "2026-05-01T12:00:00.123Z".
std::string AccessLine(const rpc::CallRecord& record, const std::string& when);

}  // namespace casemate::reapi
