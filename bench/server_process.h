// A server in a process of its own, so that its CPU time is its own.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace casemate::bench {

// Starts a program that prints the address it listens on as its first line
// ("grpc://" before it is dropped), and ends when its stdin does or at SIGTERM,
// whichever it knows; it is told so, and waited for, at the end.
class ServerProcess {
 public:
  explicit ServerProcess(std::vector<std::string> arguments);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }

  double CpuSeconds() const;   // User and system, since its start.
  double ResidentMib() const;  // Now.
  double PeakMib() const;      // Resident, at most.
  int Threads() const;

 private:
  pid_t pid_ = 0;
  int stdin_ = -1;
  std::string address_;
};

// The other side: prints the address and waits for the end of stdin.
void AnnounceAndWait(const std::string& address);

}  // namespace casemate::bench
