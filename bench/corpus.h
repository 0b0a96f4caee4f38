// Trees of files to measure with, the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "casemate/blob.h"

namespace casemate::bench {

struct CorpusShape {
  int directories = 272;
  int files = 4400;
  int64_t bytes = 20 << 20;  // About: sizes are spread as in a source tree.
  uint64_t seed = 1;         // Another seed, other content.
};

// Where benchmarks write: memory for what must not wait for a disk, and a disk.
std::string MemoryFolder();  // $CASEMATE_BENCH_MEMORY, else /dev/shm
std::string DiskFolder();    // $CASEMATE_BENCH_DISK, else $TMPDIR, else /tmp

// A directory of its own, removed at the end of the process: never between
// rounds, because creating files just after deleting others is slow on ext4.
std::string Scratch(const std::string& below);

void MakeTree(const std::string& path, const CorpusShape& shape);

// The paths of all regular files below `path`.
std::vector<std::string> FilesBelow(const std::string& path);

}  // namespace casemate::bench
