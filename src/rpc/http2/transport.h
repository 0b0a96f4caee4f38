// Transport: a connected socket that carries bytes, plain or encrypted.
#pragma once

#include <openssl/types.h>
#include <sys/types.h>

#include <memory>
#include <span>
#include <string>

#include "casemate/result.h"
#include "rpc/http2/output.h"
#include "rpc/http2/tls.h"

namespace casemate::rpc::http2 {

// Never waits. Belongs to one thread. Does not own the socket.
class Transport {
 public:
  virtual ~Transport() = default;

  // The number of bytes that came, 0 if there are none now, -1 at the end.
  virtual ssize_t Read(std::span<char> place) = 0;

  // Takes from `output` what can be sent now. False if nothing ever can.
  virtual bool Write(Output& output) = 0;

  // Tells the peer that nothing more comes.
  virtual void Shutdown() = 0;

  // The peer is who it has to be, and speaks HTTP/2: no handshake is left.
  virtual bool ready() const { return true; }
  // Read has to be called again, although the socket has nothing.
  virtual bool pending() const { return false; }
  // Read can only go on when the socket may be written to.
  virtual bool wants_to_write() const { return false; }
  // As in CallInfo::subject.
  virtual std::string subject() const { return {}; }
};

std::unique_ptr<Transport> MakePlainTransport(int socket);
std::unique_ptr<Transport> MakeTlsTransport(int socket, SSL_CTX& context);

}  // namespace casemate::rpc::http2
