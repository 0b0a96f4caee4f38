// Rows about whole trees: push and pull of 4,400 files, and their memory.
#pragma once

#include <vector>

#include "bench/driver.h"

namespace casemate::bench {

std::vector<RowResult> PushToMemory(const Options& options);
std::vector<RowResult> PushToDisk(const Options& options);
std::vector<RowResult> PullToMemory(const Options& options);

// These run the program itself, because what counts is a process's memory.
std::vector<RowResult> PushSparseFile(const Options& options);
std::vector<RowResult> PushMillionFiles(const Options& options);

}  // namespace casemate::bench
