#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "bench/corpus.h"
#include "bench/idle_peers.h"
#include "bench/reapi_loads.h"
#include "bench/server_process.h"
#include "bench/server_rows.h"
#include "reapi/wire/bytestream_messages.h"

namespace casemate::bench {
namespace {

constexpr int kConnections = 20;
constexpr int kClients = 64;
constexpr double kBudgetMib = 64;  // As --memory says.
constexpr double kBesidesMib = 150;

// The first 100 bytes of a blob of 1 MB.
std::string BeginningOfUpload() {
  const SmallBlobs blob = MakeSmallBlobs(1);
  const std::string name =
      UploadPrefix() + "blobs/" + blob.digests[0].Hex() + "/1000000";
  const Bytes head = reapi::WriteRequestHead({name, 0, false, {}}, 100);
  return std::string(head.view()) + std::string(100, 'u');
}

RowResult IdleStreams(const Options& options) {
  const int streams = options.smoke ? 5 : 100;
  const ServerProcess server(
      ServeCommand(options, "dir:" + Scratch(DiskFolder()) + "/store", {}));
  const IdlePeers peers(server.address(), kConnections, streams, kWrite,
                        BeginningOfUpload());
  // What is still to be done in the background.
  std::this_thread::sleep_for(std::chrono::seconds(options.smoke ? 1 : 3));
  return {"2,000 streams idle after 100 bytes of an upload",
          "MiB resident",
          {{"casemate serve", {server.ResidentMib()}}},
          {{"casemate serve", "", kBesidesMib}}};
}

RowResult ManyReaders(const Options& options) {
  const std::string folder = Scratch(DiskFolder()) + "/store";
  const auto server = ServeCommand(options, "dir:" + folder,
                                   {"--at-rest=identity", "--memory=64MiB"});
  const LargeBlob blob(LargeBlob::Kind::kNoise,
                       options.smoke ? int64_t{16} << 20 : int64_t{1} << 30);
  FillStore(server, {blob.Upload()});
  const ServerProcess process(server);
  LoadClient(process.address(), kClients).Run(blob.Read(kClients, kClients));
  return {"64 clients read 1 GiB each, --memory=64MiB",
          "MiB peak",
          {{"casemate serve", {process.PeakMib()}}},
          {{"casemate serve", "", kBudgetMib + kBesidesMib}}};
}

}  // namespace

std::vector<RowResult> ServerMemory(const Options& options) {
  return {IdleStreams(options), ManyReaders(options)};
}

}  // namespace casemate::bench
