// The addresses a server listens on.
#pragma once

#include <string>

#include "casemate/result.h"

namespace casemate::rpc {

// "HOST:PORT", "[V6]:PORT" or "unix:PATH".
Result<void> CheckListener(const std::string& listener);

// Removes the socket file that a server which is gone has left, and refuses
// what must not be removed: a file of another kind, and a socket that somebody
// listens on.
Result<void> ClearStaleSocket(const std::string& listener);

// Why nobody can listen there, found by trying; kUnavailable.
Error WhyNot(const std::string& listener);

// The address to dial: with the port that was chosen for port 0.
std::string WithPort(const std::string& listener, int port);

}  // namespace casemate::rpc
