#include "tree/lookup.h"

#include <algorithm>
#include <optional>

#include "base/try.h"
#include "digest/hasher.h"
#include "files/error.h"

namespace casemate::tree {
namespace {

template <typename Entry>
const Entry* Find(const std::vector<Entry>& sorted, std::string_view name) {
  const auto found = std::ranges::lower_bound(sorted, name, {}, &Entry::name);
  return found != sorted.end() && found->name == name ? &*found : nullptr;
}

std::optional<Node> FindEntry(const Directory& directory,
                              std::string_view name) {
  if (const auto* node = Find(directory.directories, name)) return *node;
  if (const auto* node = Find(directory.files, name)) return *node;
  if (const auto* node = Find(directory.symlinks, name)) return *node;
  return std::nullopt;
}

// Takes the next name off `rest`, and any slashes and "." before it; empty when
// there is none.
std::string_view TakeName(std::string_view& rest) {
  std::string_view name;
  while (!rest.empty() && (name.empty() || name == ".")) {
    const size_t end = std::min(rest.find('/'), rest.size());
    name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return name == "." ? std::string_view() : name;
}

std::string_view KindOf(const Node& node) {
  return std::holds_alternative<FileNode>(node) ? "a file" : "a symbolic link";
}

}  // namespace

Result<Directory> DecodeBlob(const Blob& blob, const Digest& expected) {
  if (blob.digest() != expected) {
    return digest::Mismatch(expected, blob.digest());
  }
  RETURN_IF_ERROR(blob.Verify());
  return Decode(blob.bytes().view(), expected.function());
}

Result<Directory> FetchDirectory(const Context& ctx, BlobStore& store,
                                 const Digest& digest) {
  const std::string doing = "directory " + digest.ToString();
  if (digest::IsEmpty(digest)) return Directory();
  if (digest.size() > kMaxDirectoryBytes) {
    return Error{Code::kResourceExhausted,
                 doing + ": it is larger than " +
                     std::to_string(kMaxDirectoryBytes) + " bytes"};
  }
  auto blobs = store.GetMany(ctx, std::span(&digest, 1));
  if (!blobs[0]) return Wrap(blobs[0].error(), doing);
  auto directory = DecodeBlob(*blobs[0], digest);
  if (!directory) return Wrap(directory.error(), doing);
  return directory;
}

Result<Node> Lookup(const Context& ctx, BlobStore& store, const Digest& root,
                    std::string_view path) {
  Node node = DirectoryNode{.name = "", .digest = root};
  std::string_view rest = path;
  std::string_view walked;  // What `node` is, as a part of `path`.
  for (auto name = TakeName(rest); !name.empty(); name = TakeName(rest)) {
    const auto* const parent = std::get_if<DirectoryNode>(&node);
    if (parent == nullptr) {
      return Error{Code::kNotFound, "\"" + files::Printable(walked) + "\" is " +
                                        std::string(KindOf(node)) +
                                        ", not a directory"};
    }
    ASSIGN_OR_RETURN(const Directory directory,
                     FetchDirectory(ctx, store, parent->digest));
    walked = path.substr(0, static_cast<size_t>(name.end() - path.begin()));
    auto found = FindEntry(directory, name);
    if (!found) {
      return Error{Code::kNotFound, "no entry \"" + files::Printable(walked) +
                                        "\" in the tree " + root.ToString()};
    }
    node = std::move(*found);
  }
  return node;
}

}  // namespace casemate::tree
