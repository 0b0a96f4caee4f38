#include "rpc/http2/server.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/try.h"
#include "rpc/call_hub.h"
#include "rpc/http2/acceptor.h"
#include "rpc/http2/asio_loop.h"
#include "rpc/http2/link.h"
#include "rpc/http2/sockets.h"

namespace casemate::rpc {
namespace http2 {
namespace {

constexpr int64_t kWindows = int64_t{64} << 20;

int Threads(const Http2Options& options) {
  if (options.threads > 0) return options.threads;
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

class TheServer final : public Http2Server {
 public:
  TheServer(const ServerOptions& options, std::span<Service* const> services,
            work::Pool& pool, const Http2Options& http2, TlsContext tls);
  ~TheServer() override;

  void Start(std::vector<ListeningSocket> sockets);

  const std::vector<std::string>& addresses() const override {
    return addresses_;
  }
  int64_t Drain(Time deadline) override;
  int64_t calls_running() const override { return hub_.calls(); }
  Http2Counts counts() const override;

 private:
  void Take(int socket, std::string peer);
  void StopAccepting();

  work::Budget own_windows_{kWindows};
  CallHub hub_;
  std::unordered_map<std::string_view, Service*> services_;
  const TlsContext tls_;
  Shared shared_;
  LinkOptions link_options_;
  std::deque<AsioLoop> loops_;
  std::deque<Acceptor> acceptors_;  // All on the first loop.
  size_t next_loop_ = 0;            // Of the first loop's thread.
  std::atomic<bool> draining_{false};
  bool accepting_ = false;
  std::vector<std::string> addresses_;
};

TheServer::TheServer(const ServerOptions& options,
                     std::span<Service* const> services, work::Pool& pool,
                     const Http2Options& http2, TlsContext tls)
    : hub_(pool,
           {.idle_limit = options.idle_limit, .observer = options.observer}),
      tls_(std::move(tls)),
      shared_{
          .hub = hub_,
          .find =
              [this](std::string_view name) {
                const auto found = services_.find(name);
                return found == services_.end() ? nullptr : found->second;
              },
          .windows = http2.windows != nullptr ? *http2.windows : own_windows_,
          .max_request_bytes = options.max_request_bytes,
          .max_streams = options.max_streams_per_connection,
          .max_calls = http2.max_calls,
          .hello_timeout = http2.hello_timeout,
          .keepalive_time = options.keepalive_time,
          .keepalive_timeout = options.keepalive_timeout,
          .ping_interval = http2.ping_interval},
      link_options_{.handshake_timeout = http2.hello_timeout,
                    .write_stall = http2.write_stall} {
  for (Service* const service : services) {
    services_.emplace(service->name(), service);
  }
  for (int i = 0; i < Threads(http2); ++i) loops_.emplace_back(hub_.clock());
}

void TheServer::Start(std::vector<ListeningSocket> sockets) {
  for (ListeningSocket& socket : sockets) {
    addresses_.push_back(socket.address());
    acceptors_.emplace_back(
        loops_[0], std::move(socket),
        [this](int fd, std::string peer) { Take(fd, std::move(peer)); });
  }
  accepting_ = true;
  for (AsioLoop& loop : loops_) loop.Start();
}

// Loops take turns.
void TheServer::Take(int socket, std::string peer) {
  AsioLoop& loop = loops_[next_loop_++ % loops_.size()];
  const auto start = [this, &loop, socket, peer = std::move(peer)] {
    auto* const link =
        new Link(loop, shared_, link_options_, socket, tls_.get(), peer);
    if (draining_) link->Drain();
  };
  loop.InThread() ? start() : loop.Run(start);
}

void TheServer::StopAccepting() {
  if (!std::exchange(accepting_, false)) return;
  std::latch stopped(1);
  loops_[0].Run([&] {
    for (Acceptor& acceptor : acceptors_) acceptor.Stop();
    stopped.count_down();
  });
  stopped.wait();
}

int64_t TheServer::Drain(Time deadline) {
  StopAccepting();
  draining_ = true;
  for (AsioLoop& loop : loops_) {
    loop.Run([&loop] {
      for (Link* const link : loop.links()) link->Drain();
    });
  }
  hub_.WaitUntilEmpty(deadline);
  // A peer that has not read of the drain yet may still call.
  shared_.refusing = true;
  hub_.WaitUntilEmpty(deadline);
  return hub_.calls();
}

TheServer::~TheServer() {
  StopAccepting();
  hub_.CancelAll(Status(Code::kUnavailable, "the server is shutting down"));
  // Not waiting for peers that do not take the last words.
  for (AsioLoop& loop : loops_) loop.Run([&loop] { loop.CloseLinks(); });
  hub_.WaitUntilEmpty(Time::max());
  for (AsioLoop& loop : loops_) loop.Stop();
}

Http2Counts TheServer::counts() const {
  Http2Counts sum;
  for (const AsioLoop& loop : loops_) {
    const Counters& each = loop.counters();
    sum.connections += each.connections.value();
    sum.connections_open +=
        each.connections.value() - each.connections_ended.value();
    sum.streams += each.streams.value();
    sum.streams_open += each.streams.value() - each.streams_ended.value();
    sum.bytes_in += each.bytes_in.value();
    sum.bytes_out += each.bytes_out.value();
    sum.resets_in += each.resets_in.value();
    sum.resets_out += each.resets_out.value();
    sum.streams_refused += each.streams_refused.value();
    sum.requests_refused += each.requests_refused.value();
    sum.peers_expelled += each.peers_expelled.value();
  }
  return sum;
}

}  // namespace
}  // namespace http2

Result<std::unique_ptr<Http2Server>> MakeHttp2Server(
    const ServerOptions& options, std::span<Service* const> services,
    work::Pool& pool, const Http2Options& http2) {
  http2::TlsContext tls;
  if (http2.tls) {
    ASSIGN_OR_RETURN(tls, http2::MakeTlsContext(*http2.tls));
  }
  std::vector<http2::ListeningSocket> sockets;
  for (const std::string& listener : options.listeners) {
    ASSIGN_OR_RETURN(auto some, http2::Listen(listener));
    for (auto& socket : some) sockets.push_back(std::move(socket));
  }
  auto server = std::make_unique<http2::TheServer>(options, services, pool,
                                                   http2, std::move(tls));
  server->Start(std::move(sockets));
  return Result<std::unique_ptr<Http2Server>>(std::move(server));
}

}  // namespace casemate::rpc
