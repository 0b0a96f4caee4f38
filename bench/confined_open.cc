#include "bench/confined_open.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/check.h"
#include "bench/corpus.h"
#include "files/root.h"

namespace casemate::bench {
namespace {

constexpr int kFiles = 64;
constexpr int kOpens = 20'000;  // In a round of an arm.

// One file, and all that an arm needs to know of it.
struct Known {
  std::string path;
  std::string absolute;
  files::Stat stat;
};

std::vector<Known> MakeTargets(const std::string& folder) {
  std::filesystem::create_directories(folder + "/a/b/c/d");
  const auto root = files::Root::Open(folder).value();
  std::vector<Known> targets;
  for (int i = 0; i < kFiles; ++i) {
    const std::string path = "a/b/c/d/file" + std::to_string(i);
    std::ofstream(folder + "/" + path) << "content";
    targets.push_back({path, folder + "/" + path, root.StatPath(path).value()});
  }
  return targets;
}

// open, fstat, close without any check.
void PlainOpen(const Known& target) {
  const int fd = open(target.absolute.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat stat;
  CASEMATE_CHECK(fd >= 0 && fstat(fd, &stat) == 0 && close(fd) == 0);
}

}  // namespace

std::vector<RowResult> ConfinedOpen(const Options& options) {
  const std::string folder = Scratch(MemoryFolder());
  const std::vector<Known> targets = MakeTargets(folder);
  const auto open_root = [&](files::Resolver resolver) {
    return files::Root::Open(folder, {.resolver = resolver}).value();
  };
  const files::Root openat2 = open_root(files::Resolver::kOpenat2);
  const files::Root walk = open_root(files::Resolver::kComponentWalk);

  const auto arm = [&](const std::string& name,
                       std::function<void(const Known&)> open) -> Arm {
    return {name, [&targets, open = std::move(open)] {
              return Timed([&] {
                       for (int i = 0; i < kOpens; ++i) {
                         open(targets[static_cast<size_t>(i % kFiles)]);
                       }
                     }) /
                     kOpens * 1e6;
            }};
  };
  const auto known = [](const files::Root& root) {
    return [&root](const Known& target) {
      CASEMATE_CHECK(root.OpenFile(target.path, target.stat));
    };
  };
  const auto unknown = [](const files::Root& root) {
    return [&root](const Known& target) {
      CASEMATE_CHECK(root.OpenFile(target.path));
    };
  };
  const std::string plain = "plain absolute open";
  return {RunArms("confined open + fstat + close, depth 5", "µs",
                  {arm(plain, PlainOpen), arm("openat2", known(openat2)),
                   arm("component walk", known(walk)),
                   arm("openat2, stat first", unknown(openat2)),
                   arm("component walk, stat first", unknown(walk))},
                  options.rounds * 3,
                  {{"openat2", plain, 1.1}, {"component walk", plain, 6}})};
}

}  // namespace casemate::bench
