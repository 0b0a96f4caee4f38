// TreeBuilder: directories on their way to becoming blobs, bottom-up.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/blob.h"
#include "tree/directory.h"

namespace casemate::tree {

// An open directory takes entries until Close; it is finished, encoded and
// forgotten once each of its files and directories is resolved or dropped.
// Finishing one may finish its parent, and so on up, without recursion. Entries
// are known by their index in their directory, and a directory by its parent,
// so that no path is kept. One thread.
class TreeBuilder {
 public:
  // Gets each finished directory, children first, the root last.
  using Finished = std::function<void(Blob blob, bool is_root)>;

  TreeBuilder(DigestFunction function, Finished finished)
      : function_(function), finished_(std::move(finished)) {}

  // A file or directory within an open directory.
  struct Entry {
    uint32_t directory = 0;
    uint32_t index = 0;
  };

  // What tells directories apart, for ContainsOrIs.
  struct Identity {
    uint64_t device = 0;
    uint64_t inode = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };

  // These return the number of the directory, which is open from now on.
  uint32_t OpenRoot(Identity identity, Properties properties);
  uint32_t Open(Entry directory, Identity identity, Properties properties);

  Entry AddFile(uint32_t directory, std::string name);
  Entry AddDirectory(uint32_t directory, std::string name);
  void AddSymlink(uint32_t directory, SymlinkNode link);

  // Nothing more is added to it. Its number is free for others once all its
  // entries are resolved.
  void Close(uint32_t directory);

  // The node of an added file, to be filled in before it is resolved.
  FileNode& File(Entry file) {
    return slots_[file.directory].content.files[file.index];
  }
  void ResolveFile(Entry file) { Settle(file.directory); }
  void DropFile(Entry file);
  void DropDirectory(Entry directory);  // One that was never opened.

  std::string PathOf(uint32_t directory) const;
  std::string PathOf(Entry directory) const;  // Open or not.
  int DepthOf(uint32_t directory) const { return slots_[directory].depth; }

  // Whether a directory is `identity` or lies anywhere below it.
  bool IsWithin(uint32_t directory, const Identity& identity) const;

 private:
  static constexpr uint32_t kNoParent = UINT32_MAX;

  struct Slot {
    Entry place;  // In its parent; directory kNoParent for the root.
    int depth = 0;
    uint32_t unsettled = 0;  // Entries, and one until Close.
    Identity identity;
    Directory content;
  };

  void Settle(uint32_t directory);
  void Finish(uint32_t directory);

  const DigestFunction function_;
  const Finished finished_;
  std::deque<Slot> slots_;  // A deque, so that references stay.
  std::vector<uint32_t> free_;
};

}  // namespace casemate::tree
