// The floor arms of the tree rows: the work itself, in bare loops on plain
// system calls, without names checked, changes noticed or memory bounded.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace casemate::bench {

// Two threads walk `tree`, read each file and compute its SHA-256.
void WalkReadHash(const std::string& tree);

// A file's path below its tree, and its content.
using Contents = std::vector<std::pair<std::string, std::string>>;
Contents ReadAll(const std::string& tree);

// Writes each content into a file of its own below `folder`: write a group of
// 250, syncfs, rename each to its final name, syncfs. On `threads` threads.
void WriteDurably(const Contents& contents, const std::string& folder,
                  int threads);

// Two threads create the files below `tree`, write them and compute the SHA-256
// of what they wrote.
void CreateWriteHash(const Contents& contents, const std::string& tree);

}  // namespace casemate::bench
