#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "bench/corpus.h"
#include "bench/reapi_loads.h"
#include "bench/server_rows.h"

namespace casemate::bench {
namespace {

// 0.9 of the floor's speed.
constexpr double kBound = 1 / 0.9;

// Each round leaves a GiB in the server's memory.
constexpr int kRoundsInMemory = 3;

constexpr char kNoSync[] = "casemate serve --sync=off";
constexpr char kSync[] = "casemate serve --sync=always";

int64_t SizeFor(const Options& options) {
  return options.smoke ? int64_t{64} << 20 : int64_t{1} << 30;
}

Load StreamFile(const std::string& path) {
  Load load;
  load.path = "/bare/Stream";
  load.width = 1;
  load.request = [path](int, int) { return ToBuffer(path); };
  return load;
}

// Reads of what `blob` is stored as, against a server that knows its file.
std::vector<RowResult> StoredReads(const Options& options,
                                   const std::string& name,
                                   const LargeBlob& blob,
                                   const std::string& at_rest) {
  const std::string folder = Scratch(DiskFolder()) + "/store";
  const auto server =
      ServeCommand(options, "dir:" + folder, {"--at-rest=" + at_rest});
  FillStore(server, {blob.Upload()});
  return RunLoads(
      name,
      {{"bare, pread of 1 MiB", kBareServer, StreamFile(LargestFile(folder))},
       {"casemate serve", server, blob.Read(1, 1)}},
      options.rounds, kBound, 0);
}

// So many bytes into a new file, a MiB at once. Files stay until the process
// ends, as those of a store do.
void WriteOut(int64_t size) {
  const std::string part(1 << 20, 'w');
  const std::string path = Scratch(DiskFolder()) + "/file";
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  CASEMATE_CHECK(fd >= 0);
  for (int64_t done = 0; done < size; done += std::ssize(part)) {
    CASEMATE_CHECK(write(fd, part.data(), part.size()) == std::ssize(part));
  }
  CASEMATE_CHECK(close(fd) == 0);
}

std::vector<std::string> DiskServer(const Options& options,
                                    const std::string& at_rest,
                                    const std::string& sync) {
  return ServeCommand(options, "dir:" + Scratch(DiskFolder()) + "/store",
                      {"--at-rest=" + at_rest, "--sync=" + sync});
}

std::vector<RowResult> PlainWrites(const Options& options) {
  LargeBlob blob(LargeBlob::Kind::kNoise, SizeFor(options));
  const Load upload = blob.Upload();
  const auto arm = [&](const std::string& name, std::vector<std::string> server,
                       const Load& load) {
    const auto renew = [&blob] { blob.Renew(); };
    return LoadArm{name, std::move(server), load, 1, {}, renew};
  };
  const std::string hashing = "bare, hashing";
  const std::string writing = "bare, hashing + write";
  const LoadArm floor =
      arm(hashing, kBareServer, ForBare(upload, "/bare/Hash"));
  std::vector<LoadArm> arms = {
      floor, floor,
      arm(kNoSync, DiskServer(options, "identity", "off"), upload),
      arm(kSync, DiskServer(options, "identity", "always"), upload)};
  arms[1].name = writing;
  arms[1].plus = [size = SizeFor(options)] { WriteOut(size); };
  std::vector<RowResult> rows =
      RunLoads("Write 1 GiB to dir:", arms, options.rounds, 0, 0);
  rows[0].targets = {{kNoSync, hashing, kBound},
                     {kNoSync, writing, kBound},
                     {kSync, hashing, kBound},
                     {kSync, writing, kBound}};
  Append(rows, RunLoads("Write 1 GiB to mem:",
                        {floor, arm("casemate serve",
                                    ServeCommand(options, "mem:", {}), upload)},
                        std::min(options.rounds, kRoundsInMemory), kBound, 0));
  return rows;
}

std::vector<RowResult> ZstdWrites(const Options& options, LargeBlob& blob) {
  const auto renew = [&blob] { blob.Renew(); };
  const auto ours = [&](const std::string& name, const std::string& sync) {
    return LoadArm{
        name, DiskServer(options, "zstd", sync), blob.Upload(), 1, {}, renew};
  };
  return RunLoads("Write 1 GiB of text as zstd to dir:",
                  {{"bare, decoding and hashing",
                    kBareServer,
                    ForBare(blob.Upload(), "/bare/Unzstd"),
                    1,
                    {},
                    renew},
                   ours(kNoSync, "off"),
                   ours(kSync, "always")},
                  options.rounds, kBound, 0);
}

}  // namespace

std::vector<RowResult> ServeLargeBlobs(const Options& options) {
  std::vector<RowResult> rows;
  const LargeBlob noise(LargeBlob::Kind::kNoise, SizeFor(options));
  Append(rows, StoredReads(options, "Read 1 GiB from dir:", noise, "identity"));
  Append(rows, PlainWrites(options));
  LargeBlob text(LargeBlob::Kind::kText, SizeFor(options));
  Append(rows, StoredReads(options, "Read 1 GiB of text as zstd from dir:",
                           text, "zstd"));
  Append(rows, ZstdWrites(options, text));
  return rows;
}

}  // namespace casemate::bench
