#include "rpc/http2/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/try.h"

namespace casemate::rpc::http2 {
namespace {

constexpr int kBacklog = 4096;  // The kernel cuts it to somaxconn.

// A socket on its way to become one that listens.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Error CannotListen(const std::string& listener) {
  return {Code::kUnavailable,
          "listen on " + listener + ": " + std::strerror(errno)};
}

Error NoListener(const std::string& listener) {
  return {Code::kInvalidArgument,
          listener +
              " is no listener: HOST:PORT, [V6]:PORT, unix:PATH or "
              "systemd:"};
}

std::string Describe(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN];
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return text + (":" + std::to_string(ntohs(v4.sin_port)));
  }
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  const auto& local = reinterpret_cast<const sockaddr_un&>(address);
  return "unix:" + std::string(local.sun_path,
                               strnlen(local.sun_path, sizeof local.sun_path));
}

std::string OwnAddress(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return Describe(address);
}

Result<ListeningSocket> ListenOn(const std::string& listener, int family,
                                 const sockaddr* address, socklen_t size,
                                 std::string made_file = {}) {
  Socket socket(
      ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return CannotListen(listener);
  const int on = 1;
  if (family != AF_UNIX) {
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  }
  if (bind(socket.get(), address, size) != 0 ||
      listen(socket.get(), kBacklog) != 0) {
    return CannotListen(listener);
  }
  std::string own = OwnAddress(socket.get());
  return ListeningSocket(socket.Release(), std::move(own),
                         std::move(made_file));
}

// ---- unix:

Result<sockaddr_un> UnixAddress(const std::string& listener) {
  const std::string_view path = std::string_view(listener).substr(5);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty()) return NoListener(listener);
  if (path.size() >= sizeof address.sun_path) {
    return Error{Code::kInvalidArgument,
                 listener + ": the path of a unix socket has at most " +
                     std::to_string(sizeof address.sun_path - 1) + " bytes"};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Only a socket that nobody listens on is a dead server's.
Result<void> ClearStale(const std::string& listener,
                        const sockaddr_un& address) {
  struct stat info;
  if (lstat(address.sun_path, &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode)) {
    return Error{Code::kUnavailable, "listen on " + listener +
                                         ": there is a file that is no socket"};
  }
  const Socket probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof address) == 0 ||
      errno != ECONNREFUSED) {
    errno = EADDRINUSE;
    return CannotListen(listener);
  }
  unlink(address.sun_path);
  return {};
}

Result<std::vector<ListeningSocket>> ListenUnix(const std::string& listener) {
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(listener));
  RETURN_IF_ERROR(ClearStale(listener, address));
  std::vector<ListeningSocket> sockets;
  ASSIGN_OR_RETURN(
      ListeningSocket socket,
      ListenOn(listener, AF_UNIX, reinterpret_cast<const sockaddr*>(&address),
               sizeof address, address.sun_path));
  sockets.push_back(std::move(socket));
  return sockets;
}

// ---- HOST:PORT

struct AddressListDeleter {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressListDeleter>;

Result<AddressList> Resolve(const std::string& listener) {
  const size_t colon = listener.rfind(':');
  if (colon == std::string::npos) return NoListener(listener);
  std::string host = listener.substr(0, colon);
  const std::string port = listener.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return NoListener(listener);
  }
  uint16_t number = 0;
  const char* const end = port.data() + port.size();
  const auto parsed = std::from_chars(port.data(), end, number);
  if (host.empty() || parsed.ec != std::errc() || parsed.ptr != end) {
    return NoListener(listener);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (const int error =
          getaddrinfo(host.c_str(), port.c_str(), &hints, &list)) {
    return Error{Code::kUnavailable,
                 "listen on " + listener + ": " + gai_strerror(error)};
  }
  return AddressList(list);
}

// A name may have several addresses. Of those that are chosen freely, the first
// alone: the others would get another port.
Result<std::vector<ListeningSocket>> ListenTcp(const std::string& listener) {
  ASSIGN_OR_RETURN(const AddressList list, Resolve(listener));
  std::vector<ListeningSocket> sockets;
  for (const addrinfo* each = list.get(); each; each = each->ai_next) {
    ASSIGN_OR_RETURN(
        ListeningSocket socket,
        ListenOn(listener, each->ai_family, each->ai_addr, each->ai_addrlen));
    sockets.push_back(std::move(socket));
    if (listener.ends_with(":0")) break;
  }
  return sockets;
}

// ---- systemd:

int FromEnvironment(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);
}

Result<std::vector<ListeningSocket>> Adopt(const std::string& listener) {
  constexpr int kFirst = 3;  // SD_LISTEN_FDS_START.
  const int count = FromEnvironment("LISTEN_PID") == getpid()
                        ? FromEnvironment("LISTEN_FDS")
                        : 0;
  if (count <= 0) {
    return Error{Code::kUnavailable, "listen on " + listener +
                                         ": the service manager has handed "
                                         "over no sockets (LISTEN_FDS)"};
  }
  std::vector<ListeningSocket> sockets;
  for (int fd = kFirst; fd < kFirst + count; ++fd) {
    int listens = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
        listens == 0) {
      return Error{Code::kUnavailable,
                   "listen on " + listener + ": descriptor " +
                       std::to_string(fd) + " is no socket that listens"};
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    sockets.emplace_back(fd, OwnAddress(fd), "");
  }
  return sockets;
}

}  // namespace

ListeningSocket::ListeningSocket(int fd, std::string address,
                                 std::string made_file)
    : fd_(fd), address_(std::move(address)), made_file_(std::move(made_file)) {}

ListeningSocket::ListeningSocket(ListeningSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      address_(std::move(other.address_)),
      made_file_(std::exchange(other.made_file_, {})) {}

void ListeningSocket::Close() {
  if (fd_ < 0) return;
  if (!made_file_.empty()) unlink(made_file_.c_str());
  close(std::exchange(fd_, -1));
}

Result<std::vector<ListeningSocket>> Listen(const std::string& listener) {
  if (listener.starts_with("unix:")) return ListenUnix(listener);
  if (listener == "systemd:") return Adopt(listener);
  return ListenTcp(listener);
}

std::string PeerAddress(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET) return "ipv4:" + Describe(address);
  if (address.ss_family == AF_INET6) return "ipv6:" + Describe(address);
  return "unix:";
}

}  // namespace casemate::rpc::http2
