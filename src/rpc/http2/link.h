// Link: a connection and the socket beneath it.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "rpc/http2/asio_loop.h"
#include "rpc/http2/connection.h"
#include "rpc/http2/transport.h"

namespace casemate::rpc::http2 {

struct LinkOptions {
  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds write_stall{60'000};  // A peer that reads nothing.
  std::chrono::milliseconds linger{1'000};  // For the last words to arrive.
};

// Reads once each time the socket has something, and sends once a turn. Made
// with new on its loop's thread; it deletes itself when all is over.
class Link final : private Carrier, private Flushed, private Timer {
 public:
  // Takes over `socket`, which does not block.
  Link(AsioLoop& loop, Shared& shared, const LinkOptions& options, int socket,
       SSL_CTX* tls, std::string address);

  void Drain();  // See Connection.
  void Close();  // At once. The last call.

 private:
  ~Link();

  // Carrier, Flushed, Timer.
  void WantsToSend() override;
  void GiveUp() override;
  void Flush() override;
  void OnTime() override;

  void AwaitRead();
  void AwaitWrite();
  void OnReadable();
  void OnWritable();
  void ReadOnce();
  void Greet();
  void SendSome();
  void KeepRest(Output& output);
  void Linger();
  void End();
  void Again();
  template <typename Function>
  void Event(Function function);

  AsioLoop& loop_;
  Shared& shared_;
  const LinkOptions& options_;
  boost::asio::posix::stream_descriptor socket_;
  const std::unique_ptr<Transport> transport_;
  std::string address_;
  std::optional<Connection> connection_;  // Once the handshake is over.
  std::unique_ptr<Output> rest_;          // What the socket did not take.

  int events_ = 0;  // Whose handlers are still to come.
  bool awaits_read_ = false, awaits_write_ = false;
  bool draining_ = false;
  bool hopeless_ = false;
  bool lingering_ = false;
  bool closed_ = false;
};

}  // namespace casemate::rpc::http2
