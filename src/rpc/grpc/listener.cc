#include "rpc/grpc/listener.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace casemate::rpc {
namespace {

constexpr std::string_view kUnix = "unix:";

bool IsUnix(const std::string& listener) { return listener.starts_with(kUnix); }

std::string PathOf(const std::string& listener) {
  return listener.substr(kUnix.size());
}

Error Refusal(const std::string& listener, Code code, std::string_view why) {
  return {code, "cannot listen on " + listener + ": " + std::string(why)};
}

class Socket {
 public:
  explicit Socket(int family)
      : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// 0, or the errno of binding a socket to it.
int TryBind(int family, const sockaddr* address, socklen_t size) {
  const Socket socket(family);
  const int on = 1;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(socket.fd(), address, size) != 0) return errno;
  return listen(socket.fd(), 1) == 0 ? 0 : errno;
}

std::string WhyNotTcp(const std::string& listener) {
  const size_t colon = listener.rfind(':');
  std::string host = listener.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  const int failed = getaddrinfo(
      host.c_str(), listener.substr(colon + 1).c_str(), &hints, &found);
  if (failed != 0) return gai_strerror(failed);
  int error = 0;
  for (addrinfo* each = found; each != nullptr && error == 0;
       each = each->ai_next) {
    error = TryBind(each->ai_family, each->ai_addr, each->ai_addrlen);
  }
  freeaddrinfo(found);
  return error == 0 ? "unknown reason" : std::strerror(error);
}

std::string WhyNotUnix(const std::string& path) {
  const sockaddr_un address = AddressOf(path);
  const int error = TryBind(AF_UNIX, Generic(address), sizeof address);
  if (error != 0) return std::strerror(error);
  unlink(path.c_str());
  return "unknown reason";
}

}  // namespace

Result<void> CheckListener(const std::string& listener) {
  const auto refuse = [&](std::string_view why) {
    return Refusal(listener, Code::kInvalidArgument, why);
  };
  if (IsUnix(listener)) {
    const size_t size = PathOf(listener).size();
    if (size == 0) return refuse("the path is missing");
    if (size >= sizeof(sockaddr_un::sun_path)) {
      return refuse("the path is longer than the 107 bytes of a socket's");
    }
    return {};
  }
  const size_t colon = listener.rfind(':');
  const bool bare_v6 =
      !listener.starts_with('[') && listener.find(':') != colon;
  if (colon == std::string::npos || colon == 0 || bare_v6) {
    return refuse("it is none of HOST:PORT, [V6]:PORT and unix:PATH");
  }
  const std::string port = listener.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 &&
                      port.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || std::stoi(port) > 65535) {
    return refuse("the port is no number up to 65535");
  }
  return {};
}

Result<void> ClearStaleSocket(const std::string& listener) {
  if (!IsUnix(listener)) return {};
  const std::string path = PathOf(listener);
  struct stat found;
  if (lstat(path.c_str(), &found) != 0) return {};  // Or binding says why.
  if (!S_ISSOCK(found.st_mode)) {
    return Refusal(listener, Code::kFailedPrecondition,
                   "there is a file that is no socket");
  }
  const Socket socket(AF_UNIX);
  const sockaddr_un address = AddressOf(path);
  if (connect(socket.fd(), Generic(address), sizeof address) == 0) {
    return Refusal(listener, Code::kUnavailable, std::strerror(EADDRINUSE));
  }
  if (errno != ECONNREFUSED) {
    return Refusal(listener, Code::kUnavailable, std::strerror(errno));
  }
  unlink(path.c_str());
  return {};
}

Error WhyNot(const std::string& listener) {
  return Refusal(
      listener, Code::kUnavailable,
      IsUnix(listener) ? WhyNotUnix(PathOf(listener)) : WhyNotTcp(listener));
}

std::string WithPort(const std::string& listener, int port) {
  if (IsUnix(listener)) return listener;
  return listener.substr(0, listener.rfind(':') + 1) + std::to_string(port);
}

}  // namespace casemate::rpc
