// Rows about the server's wire alone: our carrier against bare gRPC.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/driver.h"
#include "bench/rpc_load.h"

namespace casemate::bench {

std::vector<RowResult> RpcRows(const Options& options);
std::vector<RowResult> RpcMemory(const Options& options);

// One way to answer a load: a server, and the load in its words.
struct LoadArm {
  std::string name;
  std::vector<std::string> server;  // See ServerProcess.
  Load load;
  int channels = 1;
  // Loads that are run first, once: what `load` needs.
  std::vector<Load> setup = {};
  // Before each run of the load, untimed: what each needs anew.
  std::function<void()> prepare = {};
  // Of a floor: work besides the server's, on this thread. Its wall and its CPU
  // time are added.
  std::function<void()> plus = {};
};

// What one round of an arm came to, per call.
struct LoadCost {
  double wall_us = 0;
  double server_cpu_us = 0;
};

// Starts the servers, and lets the arms take turns: two rows, of the wall time
// and of the server's CPU time of a call. The bounds are those of every arm but
// the first, in terms of the first; 0: none.
std::vector<RowResult> RunLoads(const std::string& name,
                                const std::vector<LoadArm>& arms, int rounds,
                                double wall_bound, double cpu_bound);

// The same services as BareMethods, on the carrier; see there.
int ServeRpc();
inline constexpr char kServeRpcFlag[] = "--serve-rpc";

}  // namespace casemate::bench
