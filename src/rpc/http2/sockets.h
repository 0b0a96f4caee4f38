// Listening sockets, and where they are.
#pragma once

#include <string>
#include <vector>

#include "casemate/result.h"

namespace casemate::rpc::http2 {

// A socket that listens. Closes it, and removes the file of a unix socket that
// it has made.
class ListeningSocket {
 public:
  ListeningSocket(int fd, std::string address, std::string made_file);
  ListeningSocket(ListeningSocket&& other) noexcept;
  ListeningSocket& operator=(ListeningSocket&&) = delete;
  ~ListeningSocket() { Close(); }

  // Who dials from now on is refused, and goes elsewhere.
  void Close();

  int fd() const { return fd_; }
  bool is_tcp() const { return !address_.starts_with("unix:"); }
  // What clients dial: "127.0.0.1:8980", "[::1]:8980", "unix:/run/x.sock".
  const std::string& address() const { return address_; }

 private:
  int fd_;
  std::string address_;
  std::string made_file_;
};

// "HOST:PORT" and "[V6]:PORT" (port 0: any that is free), "unix:PATH", and
// "systemd:", which stands for all sockets that the service manager has handed
// over (LISTEN_FDS). kInvalidArgument for what is none of these; kUnavailable,
// with the reason, if nobody can listen there. A socket file that a dead server
// has left is replaced; a file of another kind never is.
Result<std::vector<ListeningSocket>> Listen(const std::string& listener);

// Of the other end: "ipv4:127.0.0.1:4711", "ipv6:[::1]:4711", "unix:".
std::string PeerAddress(int socket);

}  // namespace casemate::rpc::http2
