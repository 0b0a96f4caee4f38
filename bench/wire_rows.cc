#include "bench/wire_rows.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/check.h"
#include "bench/rpc_rows.h"
#include "bench/server_process.h"

namespace casemate::bench {
namespace {

// gRPC first: the others' bounds are in terms of it.
std::vector<LoadArm> Both(const Load& load, int channels) {
  return {
      {"rpc/grpc", {"/proc/self/exe", kServeWireFlag, "grpc"}, load, channels},
      {"rpc/http2",
       {"/proc/self/exe", kServeWireFlag, "http2"},
       load,
       channels}};
}

Load Reads(int calls, int width, size_t size, int count) {
  const std::string text = std::to_string(size) + " " + std::to_string(count);
  return {.path = "/wire/Read",
          .calls = calls,
          .width = width,
          .request = [text](int, int) { return ToBuffer(text); },
          .answer_bytes = static_cast<int64_t>(size) * count};
}

Load Sends(const char* path, int calls, int width, size_t size, int count,
           int64_t answer) {
  const grpc::ByteBuffer message = ToBuffer(std::string(size, 'u'));
  return {.path = path,
          .calls = calls,
          .width = width,
          .request = [message](int, int) { return message; },
          .requests = count,
          .answer_bytes = answer};
}

// ---- h2load

pid_t Spawn(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& each : arguments) argv.push_back(each.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                   O_WRONLY, 0);
  pid_t pid;
  CASEMATE_CHECK(posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(),
                              environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

double CpuSeconds(pid_t pid) {
  clockid_t clock;
  timespec time;
  CASEMATE_CHECK(clock_getcpuclockid(pid, &clock) == 0);
  CASEMATE_CHECK(clock_gettime(clock, &time) == 0);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) / 1e9;
}

// What serves h2load, whose CPU time counts.
class Target {
 public:
  virtual ~Target() = default;
  virtual pid_t pid() const = 0;
  virtual std::string url() const = 0;
};

class Ours : public Target {
 public:
  Ours(const char* carrier, const char* method)
      : server_({"/proc/self/exe", kServeWireFlag, carrier}), method_(method) {}
  pid_t pid() const override { return server_.pid(); }
  std::string url() const override {
    return "http://" + server_.address() + "/wire/" + method_;
  }

 private:
  const ServerProcess server_;
  const std::string method_;
};

// Serves a file; needs the package nghttp2-server.
class Nghttpd : public Target {
 public:
  Nghttpd(const std::string& folder, int port)
      : port_(std::to_string(port)),
        pid_(Spawn({"nghttpd", "--no-tls", "-d", folder, port_})) {}
  ~Nghttpd() override {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const override { return pid_; }
  std::string url() const override {
    return "http://127.0.0.1:" + port_ + "/file";
  }

 private:
  const std::string port_;
  const pid_t pid_;
};

// Server CPU of a call, in µs.
double H2load(const Target& target, const std::string& body, int calls) {
  std::vector<std::string> arguments = {
      "h2load", "-n", std::to_string(calls), "-c", "4", "-m", "16"};
  if (!body.empty()) {
    for (const char* each : {"-H", "content-type: application/grpc", "-H",
                             "te: trailers", "-d", body.c_str()}) {
      arguments.push_back(each);
    }
  }
  arguments.push_back(target.url());
  const double before = CpuSeconds(target.pid());
  int status = 0;
  const pid_t client = Spawn(std::move(arguments));
  CASEMATE_CHECK(waitpid(client, &status, 0) == client && status == 0);
  return (CpuSeconds(target.pid()) - before) / calls * 1e6;
}

bool Installed(const char* program) {
  return std::system(
             ("command -v " + std::string(program) + " >/dev/null").c_str()) ==
         0;
}

std::string WithPrefix(const std::string& message) {
  const auto size = static_cast<char>(message.size());  // Below 128.
  return std::string({0, 0, 0, 0, size}) + message;
}

// `file`: what nghttpd serves for comparison; empty: it does not.
RowResult H2loadRow(const std::string& name, const char* method,
                    const std::string& message, size_t file, double bound,
                    const Options& options) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("casemate-wire-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string body = folder / "body";
  std::ofstream(body, std::ios::binary) << WithPrefix(message);
  std::ofstream(folder / "file") << std::string(file, 'f');
  std::vector<std::pair<std::string, std::unique_ptr<Target>>> targets;
  targets.emplace_back("rpc/grpc", std::make_unique<Ours>("grpc", method));
  targets.emplace_back("rpc/http2", std::make_unique<Ours>("http2", method));
  RowResult row{name + ", h2load, server CPU",
                "µs a call",
                {},
                {{"rpc/http2", "rpc/grpc", bound}}};
  if (file > 0 && Installed("nghttpd")) {
    targets.emplace_back("nghttpd", std::make_unique<Nghttpd>(folder, 18'457));
    row.targets.push_back({"rpc/http2", "nghttpd", 1.5});
  }
  for (const auto& [arm, target] : targets) row.arms.push_back({arm, {}});
  const int calls = options.smoke ? 1000 : 20'000;
  for (int round = -1; round < options.rounds; ++round) {
    for (size_t i = 0; i < targets.size(); ++i) {
      const double cost = H2load(
          *targets[i].second, targets[i].first == "nghttpd" ? "" : body, calls);
      if (round >= 0) row.arms[i].values.push_back(cost);
    }
  }
  std::filesystem::remove_all(folder);
  return row;
}

void Append(std::vector<RowResult>& rows, std::vector<RowResult> more) {
  for (RowResult& row : more) rows.push_back(std::move(row));
}

}  // namespace

std::vector<RowResult> WireRows(const Options& options) {
  const int scale = options.smoke ? 16 : 1;
  const int rounds = options.rounds;
  const int many = 20'000 / scale;
  std::vector<RowResult> rows;
  if (Installed("h2load")) {
    rows.push_back(
        H2loadRow("read 4 KiB", "Read", "4096 1", 4096, 0.15, options));
    rows.push_back(H2loadRow("echo 100 B", "Echo", std::string(100, 'e'), 0,
                             0.15, options));
  }
  const auto run = [&](const char* name, const Load& load, int channels,
                       double wall, double cpu) {
    Append(rows, RunLoads(name, Both(load, channels), rounds, wall, cpu));
  };
  run("read 4 KiB, 64 in flight", Reads(many, 64, 4096, 1), 4, 0, 0.35);
  run("write 4 KiB, 64 in flight", Sends("/wire/Discard", many, 64, 4096, 1, 0),
      4, 0, 0.45);
  run("echo 100 B, 64 in flight", Sends("/wire/Echo", many, 64, 100, 1, 100), 4,
      0, 0.40);
  run("answer of 3 MiB", Reads(256 / scale, 4, 3 << 20, 1), 1, 1, 1);
  run("request of 3 MiB", Sends("/wire/Discard", 256 / scale, 4, 3 << 20, 1, 0),
      1, 1, 1);
  run("read 1 GiB in messages of 1 MiB", Reads(1, 1, 1 << 20, 1024 / scale), 1,
      1, 0);
  run("write 1 GiB in messages of 1 MiB",
      Sends("/wire/Discard", 1, 1, 1 << 20, 1024 / scale, 0), 1, 1, 0);
  run("read 1 GiB on 8 streams", Reads(8, 8, 1 << 20, 128 / scale), 1, 1, 0);
  run("write 1 GiB on 8 streams",
      Sends("/wire/Discard", 8, 8, 1 << 20, 128 / scale, 0), 1, 1, 0);
  return rows;
}

}  // namespace casemate::bench
