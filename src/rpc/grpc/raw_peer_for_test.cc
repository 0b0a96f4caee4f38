#include "rpc/grpc/raw_peer_for_test.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace casemate::rpc {
namespace {

std::string BigEndian(size_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) {
    text += static_cast<char>(number >> (8 * i) & 0xff);
  }
  return text;
}

uint32_t Number(std::string_view bytes) {
  uint32_t number = 0;
  for (const char byte : bytes) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

// One header, literal and not indexed; both lengths are below 127.
std::string Header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}

}  // namespace

RawPeer::RawPeer(const std::string& address) {
  const size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port =
      htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{20, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  Write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  Send({Frame::kSettings, 0, 0, ""});
}

RawPeer::~RawPeer() { close(fd_); }

void RawPeer::Send(const Frame& frame) {
  Write(BigEndian(frame.payload.size(), 3) + static_cast<char>(frame.type) +
        static_cast<char>(frame.flags) + BigEndian(frame.stream, 4) +
        frame.payload);
}

void RawPeer::StartCall(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& metadata) {
  std::string block = Header(":method", "POST") + Header(":scheme", "http") +
                      Header(":path", path) + Header(":authority", "test") +
                      Header("te", "trailers") +
                      Header("content-type", "application/grpc");
  for (const auto& [name, value] : metadata) block += Header(name, value);
  Send({Frame::kHeaders, 4, 1, block});
}

std::optional<Frame> RawPeer::Receive() {
  const std::string head = ReadExactly(9);
  if (head.empty()) return std::nullopt;
  const std::string_view view = head;
  Frame frame{head[3], head[4], Number(view.substr(5)), ""};
  frame.payload = ReadExactly(Number(view.substr(0, 3)));
  return frame;
}

std::string RawPeer::ReadExactly(size_t size) {
  std::string text(size, '\0');
  for (size_t got = 0; got < size;) {
    const ssize_t more = recv(fd_, text.data() + got, size - got, 0);
    EXPECT_FALSE(more < 0 && errno == EAGAIN) << "nothing came for 20 s";
    if (more <= 0) return "";
    got += static_cast<size_t>(more);
  }
  return text;
}

void RawPeer::Write(const std::string& bytes) {
  EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

}  // namespace casemate::rpc
