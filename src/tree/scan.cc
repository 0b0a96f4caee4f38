#include "tree/scan.h"

#include <optional>
#include <string>
#include <string_view>

#include "files/error.h"
#include "files/utf8.h"
#include "tree/fields.h"

namespace casemate::tree {
namespace {

// Longer than any file system allows, shorter than what hurts.
constexpr size_t kMaxName = 4096;
constexpr size_t kMaxHash = 2 * Digest::kMaxHashSize;

Error Invalid(std::string why) {
  return {Code::kInvalidArgument, std::move(why)};
}

bool IsDangerous(std::string_view name) {
  return name.empty() || name == "." || name == ".." ||
         name.find('/') != name.npos || name.find('\0') != name.npos ||
         !files::IsUtf8(name);
}

// A Digest message as far as it has been read; a field that stands twice is
// merged, as everywhere in protobuf.
struct RawDigest {
  bool there = false;
  std::string hash;
  int64_t size = 0;
};

// Fields 1 and 2 of FileNode, DirectoryNode and SymlinkNode, whose second is a
// digest, a digest and a target.
struct RawNode {
  std::string name;
  RawDigest digest;
};

bool ReadDigest(FieldStream& in, RawDigest& digest) {
  digest.there = true;
  if (!in.Enter()) return false;
  while (in.Next()) {
    if (in.Is(1, WireType::kBytes)) in.ReadText(digest.hash, kMaxHash);
    if (in.Is(2, WireType::kVarint)) {
      digest.size = static_cast<int64_t>(in.varint());
    }
  }
  return in.Leave();
}

bool ReadNode(FieldStream& in, bool has_digest, RawNode& node) {
  if (!in.Enter()) return false;
  while (in.Next()) {
    if (in.Is(1, WireType::kBytes)) in.ReadText(node.name, kMaxName);
    if (has_digest && in.Is(2, WireType::kBytes)) ReadDigest(in, node.digest);
  }
  if (!in.Leave()) return false;
  return !IsDangerous(node.name) ||
         in.Fail(Invalid("the name \"" + files::Printable(node.name) +
                         "\" is not one of an entry"));
}

class Scan {
 public:
  Scan(const Context& ctx, Reader& reader, DigestFunction function,
       const OnNode& on_node)
      : in_(ctx, reader), function_(function), on_node_(on_node) {}

  void Directory() {
    while (in_.Next()) {
      if (in_.Is(1, WireType::kBytes)) Node(NodeKind::kFile);
      if (in_.Is(2, WireType::kBytes)) Node(NodeKind::kDirectory);
      if (in_.Is(3, WireType::kBytes)) Node(std::nullopt);
    }
  }

  void Tree() {
    while (in_.Next()) {
      if (!in_.Is(1, WireType::kBytes) && !in_.Is(2, WireType::kBytes)) {
        continue;
      }
      if (!in_.Enter()) return;
      Directory();
      if (!in_.Leave()) return;
    }
  }

  Result<void> status() const { return in_.status(); }

 private:
  void Node(std::optional<NodeKind> kind) {
    RawNode node;
    if (!ReadNode(in_, kind.has_value(), node) || !kind) return;
    const auto digest = Check(node);
    if (!digest) {
      in_.Fail(digest.error());
    } else if (auto told = on_node_(*kind, *digest); !told) {
      in_.Fail(std::move(told).error());
    }
  }

  Result<Digest> Check(const RawNode& node) const {
    auto digest = Digest::FromHex(node.digest.hash, node.digest.size);
    if (digest && digest->function() != function_) {
      digest = Invalid("its digest is not one of " +
                       std::string(DigestFunctionName(function_)));
    }
    if (digest) return digest;
    return Wrap(digest.error(),
                "entry \"" + files::Printable(node.name) + "\"");
  }

  FieldStream in_;
  const DigestFunction function_;
  const OnNode& on_node_;
};

Result<void> Explained(Result<void> status, std::string_view what) {
  if (status || status.error().code != Code::kInvalidArgument) return status;
  return Wrap(status.error(), "not a valid " + std::string(what));
}

}  // namespace

Result<void> ScanDirectory(const Context& ctx, Reader& reader,
                           DigestFunction function, const OnNode& on_node) {
  Scan scan(ctx, reader, function, on_node);
  scan.Directory();
  return Explained(scan.status(), "Directory");
}

Result<void> ScanTree(const Context& ctx, Reader& reader,
                      DigestFunction function, const OnNode& on_node) {
  Scan scan(ctx, reader, function, on_node);
  scan.Tree();
  return Explained(scan.status(), "Tree");
}

}  // namespace casemate::tree
