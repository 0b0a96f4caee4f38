#include "bench/rpc_rows.h"

#include <time.h>

#include <chrono>
#include <memory>
#include <thread>

#include "base/check.h"
#include "bench/bare_server.h"
#include "bench/idle_peers.h"
#include "bench/server_process.h"
#include "bench/server_rows.h"

namespace casemate::bench {
namespace {

double ThreadCpuSeconds() {
  timespec time;
  CASEMATE_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) / 1e9;
}

LoadCost Measure(const ServerProcess& server, LoadClient& client,
                 const LoadArm& arm) {
  if (arm.prepare) arm.prepare();
  const double before = server.CpuSeconds();
  double seconds = client.Run(arm.load);
  double cpu = server.CpuSeconds() - before;
  if (arm.plus) {
    const double plus_before = ThreadCpuSeconds();
    seconds += Timed(arm.plus);
    cpu += ThreadCpuSeconds() - plus_before;
  }
  const double calls = arm.load.calls / 1e6;
  return {seconds / calls, cpu / calls};
}

std::vector<Target> Bounds(const std::vector<LoadArm>& arms, double bound) {
  std::vector<Target> targets;
  for (size_t i = 1; i < arms.size() && bound > 0; ++i) {
    targets.push_back({arms[i].name, arms[0].name, bound});
  }
  return targets;
}

// The carrier and the bare server, with the same load.
std::vector<LoadArm> Both(const Load& load, int channels) {
  return {{"bare gRPC", {"/proc/self/exe", kServeBareFlag}, load, channels},
          {"rpc/grpc", {"/proc/self/exe", kServeRpcFlag}, load, channels}};
}

Load Reads(int calls, int width, size_t size, int count) {
  const std::string text = std::to_string(size) + " " + std::to_string(count);
  return {.path = "/bare/Read",
          .calls = calls,
          .width = width,
          .request = [text](int, int) { return ToBuffer(text); },
          .answer_bytes = static_cast<int64_t>(size) * count};
}

Load Batches(int calls, int width, size_t size, int count) {
  Load load = Reads(calls, width, size, count);
  load.path = "/bare/Batch";
  load.answer_bytes = static_cast<int64_t>(size + kBatchHead) * count;
  return load;
}

Load Uploads(int calls, int width, size_t size, int count) {
  const grpc::ByteBuffer message = ToBuffer(std::string(size, 'u'));
  return {.path = "/bare/Hash",
          .calls = calls,
          .width = width,
          .request = [message](int, int) { return message; },
          .requests = count,
          .answer_bytes = 0};
}

// What the server holds once it holds no more: it works on in the background.
double SettledMib(const ServerProcess& server) {
  double last = server.ResidentMib();
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const double now = server.ResidentMib();
    if (now - last < 0.1) return now;
    last = now;
  }
}

// KiB of the server's memory for each of so many idle peers.
struct IdleCost {
  double kib = 0;
  int threads = 0;  // That came with them.
};
IdleCost CostOfIdlePeers(const LoadArm& arm, int connections, int streams) {
  const ServerProcess server(arm.server);
  // What the first of all costs is not theirs.
  LoadClient(server.address(), 1).Run(arm.load);
  const double before = SettledMib(server);
  const int threads = server.Threads();
  const IdlePeers peers(server.address(), connections, streams, "/bare/Hash");
  const double kib = (SettledMib(server) - before) * 1024;
  return {kib / (connections * std::max(streams, 1)),
          server.Threads() - threads};
}

RowResult IdleRow(const std::string& name, int connections, int streams,
                  double bound) {
  RowResult row{name, "KiB each", {}, {}};
  for (const LoadArm& arm : Both(Reads(64, 64, 4096, 1), 1)) {
    const IdleCost cost = CostOfIdlePeers(arm, connections, streams);
    std::fprintf(stderr, "%s: %s: %d more threads\n", name.c_str(),
                 arm.name.c_str(), cost.threads);
    row.arms.push_back({arm.name, {cost.kib}});
  }
  row.targets.push_back({row.arms[1].name, "", bound});
  return row;
}

}  // namespace

std::vector<RowResult> RunLoads(const std::string& name,
                                const std::vector<LoadArm>& arms, int rounds,
                                double wall_bound, double cpu_bound) {
  std::vector<std::unique_ptr<ServerProcess>> servers;
  std::vector<LoadClient> clients;
  RowResult wall{name + ", wall", "µs a call", {}, Bounds(arms, wall_bound)};
  RowResult cpu{
      name + ", server CPU", "µs a call", {}, Bounds(arms, cpu_bound)};
  for (const LoadArm& arm : arms) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), arm.name.c_str());
    servers.push_back(std::make_unique<ServerProcess>(arm.server));
    clients.emplace_back(servers.back()->address(), arm.channels);
    for (const Load& load : arm.setup) clients.back().Run(load);
    Measure(*servers.back(), clients.back(), arm);
    wall.arms.push_back({arm.name, {}});
    cpu.arms.push_back({arm.name, {}});
  }
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < arms.size(); ++i) {
      const LoadCost cost = Measure(*servers[i], clients[i], arms[i]);
      wall.arms[i].values.push_back(cost.wall_us);
      cpu.arms[i].values.push_back(cost.server_cpu_us);
    }
  }
  return {std::move(wall), std::move(cpu)};
}

std::vector<RowResult> RpcRows(const Options& options) {
  const int scale = options.smoke ? 16 : 1;
  const int rounds = options.rounds;
  std::vector<RowResult> rows;
  Append(rows,
         RunLoads("read 4 KiB, 64 in flight",
                  Both(Reads(8192 / scale, 64, 4096, 1), 2), rounds, 0, 1.1));
  Append(rows,
         RunLoads("write 4 KiB, hashed, 64 in flight",
                  Both(Uploads(8192 / scale, 64, 4096, 1), 2), rounds, 0, 1.1));
  Append(rows,
         RunLoads("read 768 × 4 KiB in one message, 3 in flight",
                  Both(Batches(128 / scale, 3, 4096, 768), 2), rounds, 0, 1.1));
  Append(rows, RunLoads("read 1 GiB in messages of 1 MiB",
                        Both(Reads(1, 1, 1 << 20, 1024 / scale), 1), rounds,
                        1 / 0.95, 0));
  Append(rows, RunLoads("write 1 GiB in messages of 1 MiB, hashed",
                        Both(Uploads(1, 1, 1 << 20, 1024 / scale), 1), rounds,
                        1 / 0.95, 0));
  return rows;
}

std::vector<RowResult> RpcMemory(const Options& options) {
  const int scale = options.smoke ? 20 : 1;
  return {IdleRow("idle streams, 100 on each of 20 connections", 20 / scale,
                  100, 30),
          IdleRow("10,000 idle connections", 10'000 / scale, 0, 25)};
}

}  // namespace casemate::bench
