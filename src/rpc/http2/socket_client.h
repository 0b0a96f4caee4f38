// The test's client on a socket; blocks, with 20 s of patience.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "rpc/http2/for_test.h"

namespace casemate::rpc::http2 {

// A connected socket that blocks.
int DialSocket(const std::string& address);

class SocketClient {
 public:
  SocketClient();
  explicit SocketClient(const std::string& address,
                        const Client::Options& options = {});
  ~SocketClient();

  void Connect(const std::string& address);

  Client& client() { return client_; }
  Outcome& outcome(int32_t stream) { return client_.outcome(stream); }
  int32_t Start(const std::string& path) { return client_.Request(path); }
  int32_t CallWithoutWaiting(const std::string& path,
                             std::string_view message) {
    return client_.Call(path, message);
  }
  // To the end of the call, or of the connection.
  Outcome& Call(const std::string& path, std::string_view message);

  // Sends and receives until that holds.
  void RunUntil(const std::function<bool()>& condition);
  void SendOnly();
  void HalfCloseSocket();
  bool ended() const { return ended_; }  // By the server.

 private:
  void RunOnce(std::chrono::milliseconds wait);

  int socket_ = -1;
  Client client_;
  std::string unsent_;
  bool ended_ = false;
};

}  // namespace casemate::rpc::http2
