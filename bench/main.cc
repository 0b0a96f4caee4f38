// scripts/bench runs this: casemate_bench --program PATH [--rounds N] [--json
// F]
// [--smoke] [NAME…].
#include <malloc.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "bench/bare_blobs.h"
#include "bench/bare_server.h"
#include "bench/confined_open.h"
#include "bench/disk_put.h"
#include "bench/driver.h"
#include "bench/process.h"
#include "bench/read_digest.h"
#include "bench/rpc_rows.h"
#include "bench/server_rows.h"
#include "bench/tree_rows.h"
#include "bench/try_get.h"
#include "bench/wire_rows.h"

namespace casemate::bench {
namespace {

const std::vector<Benchmark>& All() {
  static const std::vector<Benchmark> all = {
      {"open", "open a file below a root", ConfinedOpen},
      {"read", "read and digest many files at once", ReadAndDigest},
      {"push-mem", "push 4,400 files to memory", PushToMemory},
      {"push-dir", "push them to disk, durably", PushToDisk},
      {"put-dir", "store 4,672 small blobs on disk", PutManyToDisk},
      {"try-get", "read small blobs without waiting", TryGetFromDisk},
      {"pull", "pull them to memory", PullToMemory},
      {"sparse", "memory of pushing 10 GiB", PushSparseFile},
      {"rpc", "the server's wire against bare gRPC", RpcRows},
      {"rpc-memory", "memory of idle streams and connections", RpcMemory},
      {"server-small", "small blobs from the server", ServeSmallBlobs},
      {"server-large", "streams of 1 GiB from the server", ServeLargeBlobs},
      {"server-memory", "memory of the server's streams", ServerMemory},
      {"wire", "our own HTTP/2 against gRPC's", WireRows},
      {"million", "memory and CPU of a million files", PushMillionFiles},
  };
  return all;
}

int Usage() {
  std::fprintf(stderr,
               "usage: scripts/bench [--rounds N] [--json FILE] [--smoke] "
               "[ROW…]\nrows:\n");
  for (const Benchmark& each : All()) {
    std::fprintf(stderr, "  %-13s %s\n", each.name.c_str(), each.about.c_str());
  }
  return 2;
}

bool Known(const std::string& name) {
  for (const Benchmark& each : All()) {
    if (each.name == name) return true;
  }
  return false;
}

bool Chosen(const std::vector<std::string>& names, const std::string& name) {
  if (names.empty()) return true;
  for (const std::string& each : names) {
    if (each == name) return true;
  }
  return false;
}

int Main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == kMeasureFlag) {
    return Measure({argv + 2, argv + argc});
  }
  // As the program does; see cli/main.cc.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
  if (argc > 1 && std::string(argv[1]) == kServeBareFlag) {
    auto methods = BareMethods();
    methods.merge(BareBlobMethods());
    return ServeBare(methods);
  }
  if (argc > 1 && std::string(argv[1]) == kServeRpcFlag) return ServeRpc();
  if (argc > 2 && std::string(argv[1]) == kServeWireFlag) {
    return ServeWire(argv[2]);
  }
  Options options;
  std::string json;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const bool more = i + 1 < argc;
    if (flag == "--smoke") {
      options.smoke = true;
      options.rounds = 1;
    } else if (flag == "--rounds" && more) {
      options.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (flag == "--json" && more) {
      json = argv[++i];
    } else if (flag == "--program" && more) {
      options.program = argv[++i];
    } else if (Known(flag)) {
      names.push_back(flag);
    } else {
      return Usage();
    }
  }
  std::vector<RowResult> rows;
  for (const Benchmark& each : All()) {
    if (!Chosen(names, each.name)) continue;
    for (RowResult& row : each.run(options)) rows.push_back(std::move(row));
  }
  std::fputs(ToTable(rows).c_str(), stdout);
  if (!json.empty()) std::ofstream(json) << ToJson(rows) << "\n";
  return 0;
}

}  // namespace
}  // namespace casemate::bench

int main(int argc, char** argv) { return casemate::bench::Main(argc, argv); }
