// REAPI Directory messages as plain structs, and their canonical encoding.
//
// Source: Remote Execution API v2, messages Directory, FileNode, DirectoryNode,
// SymlinkNode and NodeProperties.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/bytes.h"
#include "casemate/digest.h"

namespace casemate::tree {

// What a tree may record of an entry beyond its content.
struct Properties {
  std::optional<int64_t> mtime;  // Nanoseconds since the epoch.
  std::optional<uint32_t> mode;  // Permission bits.

  bool empty() const { return !mtime && !mode; }
  friend bool operator==(const Properties&, const Properties&) = default;
};

struct FileNode {
  std::string name;
  Digest digest;
  bool executable = false;
  Properties properties;
};

struct DirectoryNode {
  std::string name;
  Digest digest;
};

struct SymlinkNode {
  std::string name;
  std::string target;
  Properties properties;
};

struct Directory {
  std::vector<FileNode> files;
  std::vector<DirectoryNode> directories;
  std::vector<SymlinkNode> symlinks;
  Properties properties;  // Of this directory itself.
};

// The canonical bytes: each list sorted by the bytes of the name. Names must be
// valid and distinct, which is the caller's business.
std::string Encode(Directory directory);

// Parses and checks: names are single components, valid UTF-8, sorted and
// distinct over all three lists; digests are well formed and of `function`;
// targets are not empty and hold no NUL. kInvalidArgument says which rule which
// entry breaks. Unknown fields are ignored.
Result<Directory> Decode(std::string_view bytes, DigestFunction function);

}  // namespace casemate::tree
