// Acceptor: takes the connections that come to one listening socket.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>

#include "rpc/http2/asio_loop.h"
#include "rpc/http2/sockets.h"

namespace casemate::rpc::http2 {

// Belongs to its loop's thread, but for the constructor. When a connection
// cannot be accepted, for want of descriptors or memory, it waits a while and
// tries again; those that knock meanwhile wait in the kernel.
class Acceptor {
 public:
  static constexpr std::chrono::milliseconds kPause{100};

  // `accepted` gets each socket, which does not block, and its peer's address.
  // Starts with the loop.
  Acceptor(AsioLoop& loop, ListeningSocket socket,
           std::function<void(int socket, std::string peer)> accepted);

  void Stop();  // Closes the socket. Before the loop ends.

  const std::string& address() const { return socket_.address(); }

 private:
  void Await();
  void AcceptSome();
  void PauseAndAwait();

  AsioLoop& loop_;
  ListeningSocket socket_;
  const std::function<void(int, std::string)> accepted_;
  boost::asio::posix::stream_descriptor waiter_;  // Does not own it.
  boost::asio::steady_timer pause_;
  bool stopped_ = false;
};

}  // namespace casemate::rpc::http2
