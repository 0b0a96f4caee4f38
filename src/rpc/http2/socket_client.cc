#include "rpc/http2/socket_client.h"

#include <gtest/gtest.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace casemate::rpc::http2 {
namespace {

int NewSocket(const std::string& address) {
  const int family = address.starts_with("unix:") ? AF_UNIX
                     : address.starts_with("[")   ? AF_INET6
                                                  : AF_INET;
  return socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

void ConnectSocket(int fd, const std::string& address) {
  if (address.starts_with("unix:")) {
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    std::strcpy(local.sun_path, address.c_str() + 5);
    CASEMATE_CHECK(
        connect(fd, reinterpret_cast<sockaddr*>(&local), sizeof local) == 0);
    return;
  }
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with("[")) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found;
  CASEMATE_CHECK(getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints,
                             &found) == 0);
  CASEMATE_CHECK(connect(fd, found->ai_addr, found->ai_addrlen) == 0);
  freeaddrinfo(found);
}

}  // namespace

int DialSocket(const std::string& address) {
  const int fd = NewSocket(address);
  ConnectSocket(fd, address);
  return fd;
}

SocketClient::SocketClient() : socket_(NewSocket("0.0.0.0:0")) {}

SocketClient::SocketClient(const std::string& address,
                           const Client::Options& options)
    : socket_(DialSocket(address)), client_(options) {}

SocketClient::~SocketClient() { close(socket_); }

void SocketClient::Connect(const std::string& address) {
  ConnectSocket(socket_, address);
}

Outcome& SocketClient::Call(const std::string& path, std::string_view message) {
  const int32_t stream = client_.Call(path, message);
  RunUntil([&] { return outcome(stream).closed.has_value() || ended_; });
  return outcome(stream);
}

void SocketClient::RunUntil(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "it has not come in 120 s";
      return;
    }
    RunOnce(std::chrono::milliseconds(5));
  }
}

void SocketClient::SendOnly() {
  unsent_ += client_.Take();
  send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  unsent_.clear();
}

void SocketClient::HalfCloseSocket() { shutdown(socket_, SHUT_WR); }

void SocketClient::RunOnce(std::chrono::milliseconds wait) {
  unsent_ += client_.Take();
  pollfd ready{socket_, POLLIN, 0};
  if (!unsent_.empty()) ready.events |= POLLOUT;
  if (ended_ || poll(&ready, 1, static_cast<int>(wait.count())) <= 0) return;
  if ((ready.revents & POLLOUT) != 0) {
    const ssize_t sent = send(socket_, unsent_.data(), unsent_.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) unsent_.erase(0, static_cast<size_t>(sent));
  }
  if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) == 0) return;
  std::array<char, 65536> buffer;
  const ssize_t count =
      recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count > 0) client_.Receive({buffer.data(), static_cast<size_t>(count)});
  ended_ = count == 0 || (count < 0 && errno != EAGAIN);
}

}  // namespace casemate::rpc::http2
