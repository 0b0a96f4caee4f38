// TLS: certificates and what is asked of the peer.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "casemate/result.h"

namespace casemate::rpc::http2 {

// Contents of PEM files, not their names.
struct TlsOptions {
  enum class Clients {
    kAnybody,   // No certificate is asked for.
    kOptional,  // One that is shown must be good.
    kRequired,
  };

  std::string certificates =
      {};  // The server's own, then those that signed it.
  std::string key = {};
  Clients clients = Clients::kAnybody;
  std::string client_authorities = {};  // Who signs the clients' certificates.
};

struct TlsContextDeleter {
  void operator()(SSL_CTX* context) const;
};
using TlsContext = std::unique_ptr<SSL_CTX, TlsContextDeleter>;

// TLS 1.2 or later, ALPN "h2". kInvalidArgument, with the reason, if
// certificate and key are not what they have to be.
Result<TlsContext> MakeTlsContext(const TlsOptions& options);

}  // namespace casemate::rpc::http2
