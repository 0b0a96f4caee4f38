#include "bench/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string_view>

#include "base/check.h"

namespace casemate::bench {
namespace {

// The number after `name` in /proc/PID/status.
double FromStatus(pid_t pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stod(line.substr(name.size()));
  }
  CASEMATE_CHECK(!"the process has such a line");
  return 0;
}

std::string ReadLine(int fd) {
  std::string line;
  for (char next; read(fd, &next, 1) == 1 && next != '\n';) line += next;
  return line;
}

}  // namespace

ServerProcess::ServerProcess(std::vector<std::string> arguments) {
  // As many descriptors as we may have, for it and for us.
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<char*> argv;
  for (std::string& each : arguments) argv.push_back(each.data());
  argv.push_back(nullptr);
  int in[2], out[2];
  CASEMATE_CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  CASEMATE_CHECK(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(),
                             environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  stdin_ = in[1];
  address_ = ReadLine(out[0]);
  close(out[0]);
  constexpr std::string_view kScheme = "grpc://";
  if (address_.starts_with(kScheme)) address_.erase(0, kScheme.size());
  CASEMATE_CHECK(!address_.empty());
}

ServerProcess::~ServerProcess() {
  close(stdin_);
  kill(pid_, SIGTERM);
  int status = 0;
  CASEMATE_CHECK(waitpid(pid_, &status, 0) == pid_);
  CASEMATE_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

double ServerProcess::CpuSeconds() const {
  clockid_t clock;
  timespec time;
  CASEMATE_CHECK(clock_getcpuclockid(pid_, &clock) == 0);
  CASEMATE_CHECK(clock_gettime(clock, &time) == 0);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) / 1e9;
}

double ServerProcess::ResidentMib() const {
  return FromStatus(pid_, "VmRSS:") / 1024;
}

double ServerProcess::PeakMib() const {
  return FromStatus(pid_, "VmHWM:") / 1024;
}

int ServerProcess::Threads() const {
  return static_cast<int>(FromStatus(pid_, "Threads:"));
}

void AnnounceAndWait(const std::string& address) {
  signal(SIGTERM, SIG_IGN);  // The end of stdin says it all.
  std::printf("%s\n", address.c_str());
  std::fflush(stdout);
  for (char next; read(STDIN_FILENO, &next, 1) > 0;) {
  }
}

}  // namespace casemate::bench
