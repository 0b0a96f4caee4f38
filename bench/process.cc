#include "bench/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "base/check.h"
#include "bench/driver.h"

namespace casemate::bench {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) / 1e6;
}

// Starts a program whose stdout is `output`.
pid_t Start(const std::vector<std::string>& arguments, int output) {
  std::vector<char*> argv;
  for (const std::string& each : arguments) {
    argv.push_back(const_cast<char*>(each.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t child = 0;
  CASEMATE_CHECK(posix_spawn(&child, argv[0], &actions, nullptr, argv.data(),
                             environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

rusage WaitFor(pid_t child) {
  rusage usage{};
  int status = 0;
  CASEMATE_CHECK(wait4(child, &status, 0, &usage) == child);
  CASEMATE_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return usage;
}

}  // namespace

int Measure(const std::vector<std::string>& arguments) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  rusage usage{};
  const double seconds =
      Timed([&] { usage = WaitFor(Start(arguments, nowhere)); });
  std::printf("%f %f %f\n", seconds,
              Seconds(usage.ru_utime) + Seconds(usage.ru_stime),
              static_cast<double>(usage.ru_maxrss) / 1024);
  return 0;
}

Usage RunProgram(std::vector<std::string> arguments) {
  int ends[2];
  CASEMATE_CHECK(pipe2(ends, O_CLOEXEC) == 0);
  arguments.insert(arguments.begin(), {"/proc/self/exe", kMeasureFlag});
  const pid_t child = Start(arguments, ends[1]);
  close(ends[1]);
  FILE* const report = fdopen(ends[0], "r");
  Usage usage;
  CASEMATE_CHECK(std::fscanf(report, "%lf %lf %lf", &usage.seconds,
                             &usage.cpu_seconds, &usage.peak_mib) == 3);
  std::fclose(report);
  WaitFor(child);
  return usage;
}

}  // namespace casemate::bench
