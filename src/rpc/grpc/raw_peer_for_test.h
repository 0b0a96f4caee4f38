// A client that speaks HTTP/2 by hand: to see frames, and to misbehave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace casemate::rpc {

struct Frame {
  static constexpr int kData = 0, kHeaders = 1, kReset = 3, kSettings = 4,
                       kPing = 6, kGoAway = 7;
  int type = 0;
  int flags = 0;  // 1: the end of the stream, or an answer.
  uint32_t stream = 0;
  std::string payload;
};

class RawPeer {
 public:
  explicit RawPeer(const std::string& address);  // "127.0.0.1:PORT".
  ~RawPeer();
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  void Send(const Frame& frame);
  // The headers of a call of `path`; stream 1.
  void StartCall(
      const std::string& path,
      const std::vector<std::pair<std::string, std::string>>& metadata = {});

  // The next frame; nullopt when the server has closed the connection. Waits
  // for at most 20 s, and then fails the test.
  std::optional<Frame> Receive();

 private:
  std::string ReadExactly(size_t size);
  void Write(const std::string& bytes);

  int fd_ = -1;
};

}  // namespace casemate::rpc
