// The server that speaks HTTP/2 itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "casemate/result.h"
#include "rpc/http2/tls.h"
#include "rpc/server.h"
#include "rpc/service.h"
#include "work/budget.h"
#include "work/pool.h"

namespace casemate::rpc {

// What ServerOptions does not say, as only this carrier has it.
struct Http2Options {
  int threads = 0;  // Event loops; 0: one for each core.
  std::optional<http2::TlsOptions> tls = {};

  // Calls of all connections; more are refused (REFUSED_STREAM). 0: no limit.
  int64_t max_calls = 0;

  // What the windows of busy uploads grow by, beyond the first 256 KiB of a
  // stream and 1 MiB of a connection, comes from here. Null: 64 MiB of its own.
  work::Budget* windows = nullptr;

  std::chrono::milliseconds hello_timeout{10'000};  // TLS; preface, SETTINGS.
  std::chrono::milliseconds write_stall{60'000};    // The peer takes nothing.
  std::chrono::milliseconds ping_interval{5'000};   // See G-26 in wire.md.
};

// Its counters, summed over all loops; from any thread.
struct Http2Counts {
  int64_t connections = 0, connections_open = 0;
  int64_t streams = 0, streams_open = 0;
  int64_t bytes_in = 0, bytes_out = 0;
  int64_t resets_in = 0;         // RST_STREAM from peers.
  int64_t resets_out = 0;        // And ours, but for NO_ERROR.
  int64_t streams_refused = 0;   // Before a handler ran.
  int64_t requests_refused = 0;  // That were no gRPC: HTTP 405 and 415.
  int64_t peers_expelled = 0;    // Connections ended for what the peer did.
};

class Http2Server : public Server {
 public:
  virtual Http2Counts counts() const = 0;
};

// Listens on all of `options.listeners` ("systemd:" stands for the sockets that
// the service manager has handed over) and serves `services`, whose tasks run
// on `pool`; both outlive the server. kInvalidArgument for a listener or a
// certificate that is none, kUnavailable if somebody else listens there
// already, with the reason. docs/wire.md shows a call's way through it.
Result<std::unique_ptr<Http2Server>> MakeHttp2Server(
    const ServerOptions& options, std::span<Service* const> services,
    work::Pool& pool, const Http2Options& http2 = {});

}  // namespace casemate::rpc
