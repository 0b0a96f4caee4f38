// Server: listeners, and the services behind them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/result.h"
#include "rpc/call.h"
#include "rpc/service.h"
#include "work/pool.h"

namespace casemate::rpc {

// One call that has ended, for the access log and for counters.
struct CallRecord {
  const CallInfo& info;
  const Status& status;
  std::chrono::steady_clock::duration duration;
  int64_t messages_in = 0, bytes_in = 0;
  int64_t messages_out = 0, bytes_out = 0;
};

// Told of each call once, on any thread; must not block.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void OnEnd(const CallRecord& record) = 0;
};

struct ServerOptions {
  // "127.0.0.1:8980", "[::1]:0" (any free port), "unix:/run/casemate.sock".
  std::vector<std::string> listeners;
  int64_t max_request_bytes = int64_t{32} << 20;  // Of one message, inflated.
  std::chrono::milliseconds idle_limit{60'000};   // See Call::SetIdleLimit.
  std::chrono::milliseconds keepalive_time{60'000};
  std::chrono::milliseconds keepalive_timeout{20'000};
  int max_streams_per_connection = 4096;
  CallObserver* observer = nullptr;  // Outlives the server.
};

// Serves until it ends. Several carriers: MakeGrpcServer (rpc/grpc/).
class Server {
 public:
  // Cancels what still runs, and waits until every handler is gone.
  virtual ~Server() = default;

  // Where it listens, with the ports that were chosen: what clients dial.
  virtual const std::vector<std::string>& addresses() const = 0;

  // Tells the services (Service::Drain), takes no new calls, and waits until
  // those that run have ended, at most until `deadline`; then they are
  // cancelled. Returns how many those were. From one thread, once.
  virtual int64_t Drain(std::chrono::steady_clock::time_point deadline) = 0;

  virtual int64_t calls_running() const = 0;
};

}  // namespace casemate::rpc
