#include "bench/corpus.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "base/check.h"

namespace casemate::bench {
namespace {

namespace fs = std::filesystem;

std::string Environment(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value ? value : otherwise;
}

// All scratch directories, for removal at exit.
struct Scratches {
  std::vector<std::string> paths;
  ~Scratches() {
    std::error_code ignored;
    for (const std::string& path : paths) fs::remove_all(path, ignored);
  }
};

void WriteNoise(const std::string& path, int64_t size, std::mt19937_64& noise) {
  std::vector<uint64_t> words(static_cast<size_t>(size) / 8 + 1);
  for (uint64_t& word : words) word = noise();
  FILE* const file = std::fopen(path.c_str(), "wb");
  CASEMATE_CHECK(file != nullptr);
  CASEMATE_CHECK(std::fwrite(words.data(), 1, static_cast<size_t>(size),
                             file) == static_cast<size_t>(size));
  CASEMATE_CHECK(std::fclose(file) == 0);
}

}  // namespace

std::string MemoryFolder() {
  return Environment("CASEMATE_BENCH_MEMORY", "/dev/shm");
}

std::string DiskFolder() {
  return Environment("CASEMATE_BENCH_DISK", Environment("TMPDIR", "/tmp"));
}

std::string Scratch(const std::string& below) {
  static Scratches all;
  std::string path = below + "/casemate-bench-XXXXXX";
  CASEMATE_CHECK(mkdtemp(path.data()) != nullptr);
  all.paths.push_back(path);
  return path;
}

void MakeTree(const std::string& path, const CorpusShape& shape) {
  std::mt19937_64 random(shape.seed);
  // A directory's parent is one of those before it, so the tree is a few deep.
  std::vector<std::string> directories = {path};
  fs::create_directories(path);
  while (static_cast<int>(directories.size()) < shape.directories) {
    const std::string& parent = directories[random() % directories.size()];
    directories.push_back(parent + "/dir" + std::to_string(directories.size()));
    fs::create_directory(directories.back());
  }
  // Log-normal sizes: most files small, some large.
  std::lognormal_distribution<double> sizes(0, 1.2);
  std::vector<double> weights(static_cast<size_t>(shape.files));
  double total = 0;
  for (double& weight : weights) total += weight = sizes(random);
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto size = static_cast<int64_t>(weights[i] / total *
                                           static_cast<double>(shape.bytes));
    WriteNoise(directories[i % directories.size()] + "/file" +
                   std::to_string(i) + ".txt",
               size, random);
  }
}

std::vector<std::string> FilesBelow(const std::string& path) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

}  // namespace casemate::bench
