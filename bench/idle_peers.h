// Clients that connect, perhaps open streams, and then do nothing: to see what
// each costs a server.
#pragma once

#include <string>
#include <vector>

namespace casemate::bench {

// Speaks HTTP/2 by hand, so that ten thousand of them cost this side next to
// nothing.
class IdlePeers {
 public:
  // `address`: "127.0.0.1:PORT". On each connection `streams` calls of `path`
  // are opened, each of which sends `message` and then waits.
  // Returns once the server has answered a ping that came after all that.
  IdlePeers(const std::string& address, int connections, int streams,
            const std::string& path,
            const std::string& message = std::string(100, 'm'));
  ~IdlePeers();
  IdlePeers(const IdlePeers&) = delete;
  IdlePeers& operator=(const IdlePeers&) = delete;

 private:
  std::vector<int> sockets_;
};

}  // namespace casemate::bench
