#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/check.h"
#include "bench/corpus.h"
#include "bench/process.h"
#include "bench/tree_rows.h"

namespace casemate::bench {
namespace {

// `files` files of 100 bytes, evenly in `directories`; each content distinct.
void MakeSmallFiles(const std::string& path, int files, int directories) {
  for (int d = 0; d < directories; ++d) {
    const std::string directory = path + "/d" + std::to_string(d);
    std::filesystem::create_directories(directory);
    for (int f = 0; f < files / directories; ++f) {
      std::string content = path + std::to_string(d) + "/" + std::to_string(f);
      content.resize(100, '.');
      const int fd = open((directory + "/f" + std::to_string(f)).c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
      CASEMATE_CHECK(fd >= 0);
      CASEMATE_CHECK(write(fd, content.data(), content.size()) == 100);
      close(fd);
    }
  }
}

}  // namespace

std::vector<RowResult> PushSparseFile(const Options& options) {
  const std::string scratch = Scratch(DiskFolder());
  std::filesystem::create_directory(scratch + "/tree");
  const std::string file = scratch + "/tree/sparse";
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  const off_t size = options.smoke ? off_t{64} << 20 : off_t{10} << 30;
  CASEMATE_CHECK(fd >= 0 && ftruncate(fd, size) == 0);
  close(fd);
  const auto push = [&](const std::string& store) {
    return RunProgram({options.program, "push", "--quiet", "--memory", "64MiB",
                       "--store", store, scratch + "/tree"})
        .peak_mib;
  };
  const double peak = push("dir:" + scratch + "/store");
  return {{"push one 10 GiB sparse file to dir:",
           "MiB peak",
           {{"push --memory 64MiB", {peak}}},
           {{"push --memory 64MiB", "", 96}}}};
}

std::vector<RowResult> PushMillionFiles(const Options& options) {
  const std::string scratch = Scratch(DiskFolder());
  const int many = options.smoke ? 2000 : 1'000'000;
  const int few = options.smoke ? 200 : 10'000;
  const int directories = options.smoke ? 20 : 1000;
  MakeSmallFiles(scratch + "/few", few, directories / 100 + 1);
  MakeSmallFiles(scratch + "/many", many, directories);
  const auto push = [&](const std::string& tree) {
    return RunProgram({options.program, "push", "--quiet", "--store",
                       "dir:" + scratch + "/store-" + tree, "--max-size",
                       "1TiB", scratch + "/" + tree});
  };
  const Usage small = push("few");
  const Usage large = push("many");
  const auto per_file = [](const Usage& usage, int files) {
    return usage.cpu_seconds / files * 1e6;
  };
  return {{"push 1,000,000 files of 100 bytes",
           "MiB peak",
           {{"1,000,000 files", {large.peak_mib}},
            {"10,000 files", {small.peak_mib}}},
           {{"1,000,000 files", "", 350}}},
          {"the same, CPU a file",
           "µs",
           {{"1,000,000 files", {per_file(large, many)}},
            {"10,000 files", {per_file(small, few)}}},
           {{"1,000,000 files", "10,000 files", 1.3}}},
          {"the same, wall",
           "s",
           {{"1,000,000 files", {large.seconds}},
            {"10,000 files", {small.seconds}}},
           {}}};
}

}  // namespace casemate::bench
