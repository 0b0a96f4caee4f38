#include "bench/idle_peers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace casemate::bench {
namespace {

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
using FrameType = char;
constexpr FrameType kData = 0, kHeaders = 1, kSettings = 4, kPing = 6;
constexpr char kEndHeaders = 4, kAck = 1;

std::string BigEndian(uint32_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) {
    text += static_cast<char>(number >> (8 * i) & 0xff);
  }
  return text;
}

std::string Frame(FrameType type, char flags, uint32_t stream,
                  const std::string& payload) {
  return BigEndian(static_cast<uint32_t>(payload.size()), 3) + type + flags +
         BigEndian(stream, 4) + payload;
}

// One header, literal and not indexed; both lengths are below 127.
std::string Header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}

std::string Call(uint32_t stream, const std::string& path,
                 const std::string& message) {
  const std::string headers =
      Header(":method", "POST") + Header(":scheme", "http") +
      Header(":path", path) + Header(":authority", "bench") +
      Header("te", "trailers") + Header("content-type", "application/grpc");
  const std::string framed =
      std::string(1, '\0') +
      BigEndian(static_cast<uint32_t>(message.size()), 4) + message;
  return Frame(kHeaders, kEndHeaders, stream, headers) +
         Frame(kData, 0, stream, framed);
}

std::string ReadExactly(int fd, size_t size) {
  std::string text(size, '\0');
  for (size_t got = 0; got < size;) {
    const ssize_t more = read(fd, text.data() + got, size - got);
    CASEMATE_CHECK(more > 0);
    got += static_cast<size_t>(more);
  }
  return text;
}

void AwaitPingAnswer(int fd) {
  for (;;) {
    const std::string head = ReadExactly(fd, 9);
    const auto byte = [&](size_t i) {
      return static_cast<size_t>(static_cast<unsigned char>(head[i]));
    };
    ReadExactly(fd, byte(0) << 16 | byte(1) << 8 | byte(2));
    if (head[3] == kPing && head[4] == kAck) return;
  }
}

int Dial(const std::string& address) {
  const size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port =
      htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CASEMATE_CHECK(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  return fd;
}

}  // namespace

IdlePeers::IdlePeers(const std::string& address, int connections, int streams,
                     const std::string& path, const std::string& message) {
  std::string hello =
      kPreface + Frame(kSettings, 0, 0, "") + Frame(kSettings, kAck, 0, "");
  for (int i = 0; i < streams; ++i) {
    hello += Call(static_cast<uint32_t>(2 * i + 1), path, message);
  }
  hello += Frame(kPing, 0, 0, "benching");
  for (int i = 0; i < connections; ++i) {
    const int fd = Dial(address);
    sockets_.push_back(fd);
    CASEMATE_CHECK(write(fd, hello.data(), hello.size()) ==
                   static_cast<ssize_t>(hello.size()));
    AwaitPingAnswer(fd);
  }
}

IdlePeers::~IdlePeers() {
  for (const int fd : sockets_) close(fd);
}

}  // namespace casemate::bench
