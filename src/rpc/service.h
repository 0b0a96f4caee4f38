// Service: a named set of methods.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "rpc/call.h"

namespace casemate::rpc {

// Serves calls, from any number of threads; must outlive the server.
class Service {
 public:
  virtual ~Service() = default;

  virtual std::string_view name() const = 0;  // "google.bytestream.ByteStream".

  // Begins a call of that method ("Read"), and usually asks for the first
  // message. Null if there is no such method: the caller gets UNIMPLEMENTED.
  // `call` lives as long as the handler.
  virtual std::unique_ptr<Handler> Start(std::string_view method,
                                         Call& call) = 0;

  // The server is about to stop: calls that would run for ever come to their
  // end. Once, from the thread that drains.
  virtual void Drain() {}
};

}  // namespace casemate::rpc
