#include "rpc/http2/acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace casemate::rpc::http2 {
namespace {

constexpr int kAtOnce = 64;  // Then the connections get their turn.

// What is gone by now is not ours to complain about; what is missing here is.
bool OutOfSomething(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS ||
         error == ENOMEM;
}

}  // namespace

Acceptor::Acceptor(AsioLoop& loop, ListeningSocket socket,
                   std::function<void(int, std::string)> accepted)
    : loop_(loop),
      socket_(std::move(socket)),
      accepted_(std::move(accepted)),
      waiter_(loop.io()),
      pause_(loop.io()) {
  boost::system::error_code error;
  waiter_.assign(socket_.fd(), error);
  CASEMATE_CHECK(!error);
  Await();
}

void Acceptor::Stop() {
  stopped_ = true;
  waiter_.release();
  socket_.Close();
  pause_.cancel();
}

void Acceptor::Await() {
  waiter_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](const boost::system::error_code& error) {
                       if (error || stopped_) return;
                       loop_.Turn([this] { AcceptSome(); });
                     });
}

void Acceptor::AcceptSome() {
  for (int i = 0; i < kAtOnce; ++i) {
    const int fd =
        accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && OutOfSomething(errno)) return PauseAndAwait();
    if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (fd < 0) continue;
    const int on = 1;
    if (socket_.is_tcp()) {
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    accepted_(fd, PeerAddress(fd));
  }
  Await();
}

void Acceptor::PauseAndAwait() {
  base::Log(base::LogLevel::kWarning, "accept on " + address() + ": " +
                                          std::strerror(errno) + "; waiting");
  pause_.expires_after(kPause);
  pause_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !stopped_) Await();
  });
}

}  // namespace casemate::rpc::http2
