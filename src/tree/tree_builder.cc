#include "tree/tree_builder.h"

#include <utility>

#include "tree/path.h"

namespace casemate::tree {
namespace {

// No entry has an empty name, so that marks one that was dropped. Indices must
// stay until the directory is finished.
template <typename Node>
void EraseDropped(std::vector<Node>& nodes) {
  std::erase_if(nodes, [](const Node& node) { return node.name.empty(); });
}

}  // namespace

uint32_t TreeBuilder::OpenRoot(Identity identity, Properties properties) {
  return Open({kNoParent, 0}, identity, properties);
}

uint32_t TreeBuilder::Open(Entry directory, Identity identity,
                           Properties properties) {
  uint32_t number = static_cast<uint32_t>(slots_.size());
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[number];
  slot.place = directory;
  const bool is_root = directory.directory == kNoParent;
  slot.depth = is_root ? 0 : DepthOf(directory.directory) + 1;
  slot.unsettled = 1;
  slot.identity = identity;
  slot.content.properties = properties;
  return number;
}

TreeBuilder::Entry TreeBuilder::AddFile(uint32_t directory, std::string name) {
  Slot& slot = slots_[directory];
  ++slot.unsettled;
  slot.content.files.emplace_back().name = std::move(name);
  return {directory, static_cast<uint32_t>(slot.content.files.size() - 1)};
}

TreeBuilder::Entry TreeBuilder::AddDirectory(uint32_t directory,
                                             std::string name) {
  Slot& slot = slots_[directory];
  ++slot.unsettled;
  slot.content.directories.emplace_back().name = std::move(name);
  return {directory,
          static_cast<uint32_t>(slot.content.directories.size() - 1)};
}

void TreeBuilder::AddSymlink(uint32_t directory, SymlinkNode link) {
  slots_[directory].content.symlinks.push_back(std::move(link));
}

void TreeBuilder::Close(uint32_t directory) { Settle(directory); }

void TreeBuilder::DropFile(Entry file) {
  File(file).name.clear();
  Settle(file.directory);
}

void TreeBuilder::DropDirectory(Entry directory) {
  Slot& parent = slots_[directory.directory];
  parent.content.directories[directory.index].name.clear();
  Settle(directory.directory);
}

// One thing less is owed to the directory, and to those above that it finishes.
void TreeBuilder::Settle(uint32_t directory) {
  while (directory != kNoParent && --slots_[directory].unsettled == 0) {
    const uint32_t parent = slots_[directory].place.directory;
    Finish(directory);
    directory = parent;
  }
}

void TreeBuilder::Finish(uint32_t directory) {
  Slot slot = std::exchange(slots_[directory], Slot());
  free_.push_back(directory);
  EraseDropped(slot.content.files);
  EraseDropped(slot.content.directories);
  Blob blob =
      Blob::Of(function_, Bytes::FromString(Encode(std::move(slot.content))));
  const bool is_root = slot.place.directory == kNoParent;
  if (!is_root) {
    slots_[slot.place.directory].content.directories[slot.place.index].digest =
        blob.digest();
  }
  finished_(std::move(blob), is_root);
}

std::string TreeBuilder::PathOf(uint32_t directory) const {
  const Entry place = slots_[directory].place;
  return place.directory == kNoParent ? std::string() : PathOf(place);
}

std::string TreeBuilder::PathOf(Entry directory) const {
  std::vector<std::string_view> names;
  for (Entry at = directory; at.directory != kNoParent;
       at = slots_[at.directory].place) {
    names.push_back(slots_[at.directory].content.directories[at.index].name);
  }
  return JoinReversed(names);
}

bool TreeBuilder::IsWithin(uint32_t directory, const Identity& identity) const {
  while (directory != kNoParent) {
    if (slots_[directory].identity == identity) return true;
    directory = slots_[directory].place.directory;
  }
  return false;
}

}  // namespace casemate::tree
