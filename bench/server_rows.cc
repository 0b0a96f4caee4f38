#include "bench/server_rows.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/check.h"
#include "bench/corpus.h"
#include "bench/reapi_loads.h"
#include "bench/server_process.h"

namespace casemate::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kWidth = 64;  // Calls at once, of one blob each.
constexpr int kChannels = 2;
constexpr size_t kBatch = 768;  // 3 MiB.
constexpr int kBatchWidth = 3;

// How many of what, of full size or small.
struct Counts {
  explicit Counts(bool smoke)
      : blobs(smoke ? 128 : 2048),
        read_calls(smoke ? 128 : 8192),
        batches(smoke ? 3 : 24),
        updated(smoke ? 768 : 9 * 768),
        looked_up(4400),
        look_ups(smoke ? 4 : 200) {}
  int blobs, read_calls, batches, updated, looked_up, look_ups;
};

// What both kinds of read need: the blobs, in a store in memory and in one on
// disk, and the files of the latter.
struct Stored {
  Stored(const Options& options, const SmallBlobs& blobs, Load fill)
      : memory(ServeCommand(options, "mem:", {})) {
    const std::string folder = Scratch(DiskFolder()) + "/store";
    disk = ServeCommand(options, "dir:" + folder, {"--at-rest=identity"});
    FillStore(disk, {fill});
    setup = {std::move(fill)};
    files = StoredFiles(folder, kSmallBlob);
    CASEMATE_CHECK(files.size() == blobs.digests.size());
  }
  std::vector<std::string> memory, disk;  // The servers.
  std::vector<Load> setup;                // Of that in memory.
  std::vector<std::string> files;
};

Load Fill(const SmallBlobs& blobs) {
  auto messages = std::make_shared<Messages>(BatchUpdates(blobs, kBatch));
  const int calls = static_cast<int>(messages->size());
  return Unary(CasMethod("BatchUpdateBlobs"), std::move(messages), calls,
               kBatchWidth);
}

// Requests of the bare server for the same files, so many at once.
std::shared_ptr<Messages> FileReads(const std::vector<std::string>& files,
                                    size_t batch) {
  auto messages = std::make_shared<Messages>();
  for (size_t begin = 0; begin < files.size(); begin += batch) {
    std::string lines;
    for (size_t i = begin; i < std::min(begin + batch, files.size()); ++i) {
      lines += (lines.empty() ? "" : "\n") + files[i];
    }
    messages->push_back(ToBuffer(lines));
  }
  return messages;
}

Load FromMemory(int calls, int width, size_t count) {
  const Messages messages = {ToBuffer(std::to_string(count))};
  return Unary("/bare/Memory", std::make_shared<Messages>(messages), calls,
               width);
}

std::vector<RowResult> SmallReads(const Options& options) {
  const Counts counts(options.smoke);
  const SmallBlobs blobs = MakeSmallBlobs(counts.blobs);
  const Stored stored(options, blobs, Fill(blobs));
  const int calls = counts.read_calls;
  Load read =
      Unary(kRead, std::make_shared<Messages>(Reads(blobs)), calls, kWidth);
  read.answer_bytes = kSmallBlob + 3;
  const Load files =
      Unary("/bare/Files", FileReads(stored.files, 1), calls, kWidth);
  std::vector<RowResult> rows;
  Append(rows, RunLoads("Read 4 KiB from mem:, 64 in flight",
                        {{"bare, from memory", kBareServer,
                          FromMemory(calls, kWidth, 1), kChannels},
                         {"casemate serve", stored.memory, read, kChannels,
                          stored.setup}},
                        options.rounds, 1.25, 1.25));
  Append(rows,
         RunLoads("Read 4 KiB from dir:, 64 in flight",
                  {{"bare + open, pread, close", kBareServer, files, kChannels},
                   {"casemate serve", stored.disk, read, kChannels}},
                  options.rounds, 1.3, 1.3));
  return rows;
}

std::vector<RowResult> BatchedReads(const Options& options) {
  const Counts counts(options.smoke);
  const SmallBlobs blobs =
      MakeSmallBlobs(static_cast<int>(options.smoke ? kBatch : 3 * kBatch));
  const Stored stored(options, blobs, Fill(blobs));
  const int calls = counts.batches;
  Load read = Unary(CasMethod("BatchReadBlobs"),
                    std::make_shared<Messages>(BatchReads(blobs, kBatch)),
                    calls, kBatchWidth);
  read.answer_at_least = kBatch * kSmallBlob;
  const Load files =
      Unary("/bare/Files", FileReads(stored.files, kBatch), calls, kBatchWidth);
  const Load memory = FromMemory(calls, kBatchWidth, kBatch);
  std::vector<RowResult> rows;
  Append(rows, RunLoads("BatchReadBlobs 768 × 4 KiB from mem:, 3 in flight",
                        {{"bare, from memory", kBareServer, memory, kChannels},
                         {"casemate serve", stored.memory, read, kChannels,
                          stored.setup}},
                        options.rounds, 1.3, 1.3));
  Append(rows,
         RunLoads("BatchReadBlobs 768 × 4 KiB from dir:, 3 in flight",
                  {{"bare + open, pread, close", kBareServer, files, kChannels},
                   {"casemate serve", stored.disk, read, kChannels}},
                  options.rounds, 1.3, 1.3));
  return rows;
}

// A load of blobs that nobody had before, and what makes them.
struct Fresh {
  Load load;
  std::function<void()> prepare;
};
Fresh FreshBlobs(const std::string& path, int blobs, int calls, int width,
                 std::function<Messages(const SmallBlobs&)> to_messages) {
  auto messages = std::make_shared<Messages>();
  auto prepare = [=] { *messages = to_messages(MakeSmallBlobs(blobs)); };
  return {Unary(path, messages, calls, width), prepare};
}

std::vector<RowResult> Updates(const Options& options) {
  const Counts counts(options.smoke);
  const int calls = counts.updated / static_cast<int>(kBatch);
  const Fresh fresh = FreshBlobs(
      CasMethod("BatchUpdateBlobs"), counts.updated, calls, kBatchWidth,
      [](const SmallBlobs& blobs) { return BatchUpdates(blobs, kBatch); });
  return RunLoads("BatchUpdateBlobs 768 × 4 KiB to mem:, 3 in flight",
                  {{"bare, hashing each 4 KiB",
                    kBareServer,
                    ForBare(fresh.load, "/bare/HashEach"),
                    kChannels,
                    {},
                    fresh.prepare},
                   {"casemate serve",
                    ServeCommand(options, "mem:", {}),
                    fresh.load,
                    kChannels,
                    {},
                    fresh.prepare}},
                  options.rounds, 1.3, 1.3);
}

void WriteFile(const std::string& path, const std::string& content) {
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  CASEMATE_CHECK(fd >= 0);
  CASEMATE_CHECK(write(fd, content.data(), content.size()) ==
                 static_cast<ssize_t>(content.size()));
  CASEMATE_CHECK(close(fd) == 0);
}

// Into a folder of their own: 64 files, a sync of the filesystem, and so on.
void WriteInGroups(int count) {
  const std::string folder = Scratch(DiskFolder());
  const std::string content(kSmallBlob, 'w');
  const int disk = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < count; ++i) {
    WriteFile(folder + "/" + std::to_string(i), content);
    const bool full = (i + 1) % kWidth == 0 || i + 1 == count;
    if (full) CASEMATE_CHECK(syncfs(disk) == 0);
  }
  close(disk);
}

std::vector<RowResult> SmallWrites(const Options& options) {
  const Counts counts(options.smoke);
  const int calls = counts.blobs;
  const Fresh fresh = FreshBlobs(kWrite, calls, calls, kWidth, Writes);
  const auto run = [&](const std::string& name, double bound, LoadArm floor,
                       std::vector<std::string> server) {
    const LoadArm ours{
        "casemate serve", std::move(server), fresh.load, kChannels, {},
        fresh.prepare};
    floor.load = ForBare(fresh.load, "/bare/Hash");
    floor.prepare = fresh.prepare;
    return RunLoads(name, {floor, ours}, options.rounds, bound, bound);
  };
  std::vector<RowResult> rows;
  Append(rows, run("Write 4 KiB to mem:, 64 in flight", 1.3,
                   {"bare, hashing", kBareServer, {}, kChannels},
                   ServeCommand(options, "mem:", {})));
  LoadArm durable{
      "bare, hashing + write, sync by 64", kBareServer, {}, kChannels};
  durable.plus = [calls] { WriteInGroups(calls); };
  Append(rows,
         run("Write 4 KiB to dir:, durable, 64 in flight", 1.6, durable,
             ServeCommand(options, "dir:" + Scratch(DiskFolder()) + "/store",
                          {"--at-rest=identity"})));
  return rows;
}

std::vector<RowResult> LookUps(const Options& options) {
  const Counts counts(options.smoke);
  const SmallBlobs blobs = MakeSmallBlobs(counts.looked_up);
  const Load fill = Fill(blobs);
  const std::vector<std::string> disk =
      ServeCommand(options, "dir:" + Scratch(DiskFolder()) + "/store",
                   {"--at-rest=identity"});
  const Load load = Unary(CasMethod("FindMissingBlobs"),
                          std::make_shared<Messages>(FindMissing(blobs)),
                          counts.look_ups, kBatchWidth);
  const LoadArm bare{"bare", kBareServer, ForBare(load, "/bare/Take"),
                     kChannels};
  std::vector<RowResult> rows;
  Append(rows, RunLoads("FindMissingBlobs of 4,400 in mem:, 3 in flight",
                        {bare,
                         {"casemate serve",
                          ServeCommand(options, "mem:", {}),
                          load,
                          kChannels,
                          {fill}}},
                        options.rounds, 1.5, 1.5));
  Append(rows,
         RunLoads("FindMissingBlobs of 4,400 in dir:, 3 in flight",
                  {bare, {"casemate serve", disk, load, kChannels, {fill}}},
                  options.rounds, 0, 0));
  return rows;
}

}  // namespace

std::vector<std::string> ServeCommand(const Options& options,
                                      const std::string& store,
                                      const std::vector<std::string>& flags) {
  std::vector<std::string> command = {
      options.program, "serve",   "--quiet", "--grpc",
      "127.0.0.1:0",   "--store", store};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

void FillStore(const std::vector<std::string>& server,
               const std::vector<Load>& loads) {
  const ServerProcess process(server);
  LoadClient client(process.address(), 1);
  for (const Load& load : loads) client.Run(load);
}

std::vector<std::string> StoredFiles(const std::string& folder, size_t size) {
  std::vector<std::string> files = FilesBelow(folder + "/cas");
  std::erase_if(files, [&](const std::string& path) {
    return fs::file_size(path) != size;
  });
  return files;
}

std::string LargestFile(const std::string& folder) {
  const std::vector<std::string> files = FilesBelow(folder + "/cas");
  CASEMATE_CHECK(!files.empty());
  return *std::ranges::max_element(
      files, {}, [](const std::string& path) { return fs::file_size(path); });
}

Load ForBare(Load load, const std::string& path) {
  load.path = path;
  load.answer_bytes = 0;
  load.answer_at_least = 0;
  return load;
}

void Append(std::vector<RowResult>& rows, std::vector<RowResult> more) {
  for (RowResult& row : more) rows.push_back(std::move(row));
}

std::vector<RowResult> ServeSmallBlobs(const Options& options) {
  std::vector<RowResult> rows;
  Append(rows, SmallReads(options));
  Append(rows, BatchedReads(options));
  Append(rows, Updates(options));
  Append(rows, SmallWrites(options));
  Append(rows, LookUps(options));
  return rows;
}

}  // namespace casemate::bench
