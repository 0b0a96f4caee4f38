#include <sys/socket.h>

#include <cerrno>

#include "rpc/http2/transport.h"

namespace casemate::rpc::http2 {
namespace {

bool Again() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(int socket) : socket_(socket) {}

  ssize_t Read(std::span<char> place) override {
    const ssize_t count = recv(socket_, place.data(), place.size(), 0);
    if (count < 0 && Again()) return 0;
    return count > 0 ? count : -1;
  }

  bool Write(Output& output) override {
    while (!output.empty()) {
      const auto pieces = output.pieces();
      msghdr message{};
      message.msg_iov = const_cast<iovec*>(pieces.data());  // Not changed.
      message.msg_iovlen = pieces.size();
      const ssize_t count = sendmsg(socket_, &message, MSG_NOSIGNAL);
      if (count < 0) return Again();
      output.Drop(static_cast<size_t>(count));
    }
    return true;
  }

  void Shutdown() override { shutdown(socket_, SHUT_WR); }

 private:
  const int socket_;
};

}  // namespace

std::unique_ptr<Transport> MakePlainTransport(int socket) {
  return std::make_unique<PlainTransport>(socket);
}

}  // namespace casemate::rpc::http2
