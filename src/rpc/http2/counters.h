// Counters of the wire, cheap enough for each frame.
#pragma once

#include <atomic>
#include <cstdint>

namespace casemate::rpc::http2 {

// Counted by one thread, read by any.
class Counter {
 public:
  void Add(int64_t count = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + count,
                 std::memory_order_relaxed);
  }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// Of one loop. What has ended is counted too, so "open" is a difference.
struct Counters {
  Counter connections, connections_ended;
  Counter streams, streams_ended;
  Counter bytes_in, bytes_out;
  Counter resets_in;         // RST_STREAM from peers.
  Counter resets_out;        // And ours, but for NO_ERROR.
  Counter streams_refused;   // Before a handler ran: REFUSED_STREAM.
  Counter requests_refused;  // No gRPC: 405 and 415.
  Counter peers_expelled;    // Connections ended for what the peer did.
};

}  // namespace casemate::rpc::http2
