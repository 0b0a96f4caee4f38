#include "tree/directory.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <climits>

#include "base/try.h"
#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "files/directory.h"
#include "files/error.h"

namespace casemate::tree {
namespace {

namespace proto = build::bazel::remote::execution::v2;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr int64_t kNanosPerSecond = 1'000'000'000;

// Entries pass through one reused message, both ways, never through a whole
// proto::Directory: so an entry costs no allocation, and a message of thirty
// million empty entries is refused at the first instead of being unfolded.
constexpr uint32_t Tag(int field) {
  return WireFormatLite::MakeTag(field,
                                 WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

void Fill(const Digest& from, proto::Digest& to) {
  to.set_hash(from.Hex());
  to.set_size_bytes(from.size());
}

void Fill(const Properties& from, proto::NodeProperties& to) {
  if (from.mtime) {
    int64_t seconds = *from.mtime / kNanosPerSecond;
    int64_t nanos = *from.mtime % kNanosPerSecond;
    if (nanos < 0) {  // A Timestamp's nanoseconds always count forward.
      --seconds;
      nanos += kNanosPerSecond;
    }
    to.mutable_mtime()->set_seconds(seconds);
    to.mutable_mtime()->set_nanos(static_cast<int32_t>(nanos));
  }
  if (from.mode) to.mutable_unix_mode()->set_value(*from.mode);
}

template <typename Node, typename Message>
void FillProperties(const Node& from, Message& to) {
  to.clear_node_properties();
  if (!from.properties.empty()) {
    Fill(from.properties, *to.mutable_node_properties());
  }
}

void Fill(const FileNode& from, proto::FileNode& to) {
  to.set_name(from.name);
  Fill(from.digest, *to.mutable_digest());
  to.set_is_executable(from.executable);
  FillProperties(from, to);
}

void Fill(const DirectoryNode& from, proto::DirectoryNode& to) {
  to.set_name(from.name);
  Fill(from.digest, *to.mutable_digest());
}

void Fill(const SymlinkNode& from, proto::SymlinkNode& to) {
  to.set_name(from.name);
  to.set_target(from.target);
  FillProperties(from, to);
}

void Write(int field, const google::protobuf::MessageLite& message,
           CodedOutputStream& out) {
  out.WriteTag(Tag(field));
  out.WriteVarint32(static_cast<uint32_t>(message.ByteSizeLong()));
  message.SerializeWithCachedSizes(&out);
}

// std::string compares its bytes as unsigned, which is the order of REAPI.
template <typename Message, typename Node>
void WriteSorted(int field, std::vector<Node>& nodes, CodedOutputStream& out) {
  if (!std::ranges::is_sorted(nodes, {}, &Node::name)) {
    std::ranges::sort(nodes, {}, &Node::name);
  }
  Message message;
  for (const Node& node : nodes) {
    Fill(node, message);
    Write(field, message, out);
  }
}

Error Invalid(std::string why) {
  return {Code::kInvalidArgument, std::move(why)};
}

Error Garbled() { return Invalid("the message is cut or garbled"); }

Result<Digest> Read(const proto::Digest& from, DigestFunction function) {
  ASSIGN_OR_RETURN(const Digest digest,
                   Digest::FromHex(from.hash(), from.size_bytes()));
  if (digest.function() != function) {
    return Invalid("its digest is one of " +
                   std::string(DigestFunctionName(digest.function())) +
                   ", not of " + std::string(DigestFunctionName(function)));
  }
  return digest;
}

Result<Properties> Read(const proto::NodeProperties& from) {
  Properties properties;
  if (from.has_mtime()) {
    const int32_t nanos = from.mtime().nanos();
    const __int128 mtime =
        static_cast<__int128>(from.mtime().seconds()) * kNanosPerSecond + nanos;
    if (nanos < 0 || nanos >= kNanosPerSecond || mtime < INT64_MIN ||
        mtime > INT64_MAX) {
      return Invalid("its time of modification is out of range");
    }
    properties.mtime = static_cast<int64_t>(mtime);
  }
  // Other producers put setuid and the type of the file there as well.
  if (from.has_unix_mode()) properties.mode = from.unix_mode().value() & 0777;
  return properties;
}

// Read all but the name.
Result<void> Read(const proto::FileNode& from, DigestFunction function,
                  FileNode& to) {
  ASSIGN_OR_RETURN(to.digest, Read(from.digest(), function));
  ASSIGN_OR_RETURN(to.properties, Read(from.node_properties()));
  to.executable = from.is_executable();
  return {};
}

Result<void> Read(const proto::DirectoryNode& from, DigestFunction function,
                  DirectoryNode& to) {
  ASSIGN_OR_RETURN(to.digest, Read(from.digest(), function));
  return {};
}

Result<void> Read(proto::SymlinkNode& from, DigestFunction /*function*/,
                  SymlinkNode& to) {
  if (from.target().empty()) return Invalid("its target is empty");
  if (from.target().find('\0') != std::string::npos) {
    return Invalid("its target holds a NUL");
  }
  ASSIGN_OR_RETURN(to.properties, Read(from.node_properties()));
  to.target = std::move(*from.mutable_target());
  return {};
}

template <typename Node>
Result<void> CheckNextName(const std::vector<Node>& before,
                           const std::string& name) {
  RETURN_IF_ERROR(files::CheckName(name));
  if (before.empty() || before.back().name < name) return {};
  return before.back().name == name
             ? Invalid("the name stands there twice")
             : Invalid("it is not sorted by the bytes of its name");
}

// A name that two sorted lists share.
template <typename A, typename B>
Result<void> CheckDisjoint(const std::vector<A>& some,
                           const std::vector<B>& others) {
  auto other = others.begin();
  for (const A& one : some) {
    while (other != others.end() && other->name < one.name) ++other;
    if (other == others.end()) break;
    if (other->name == one.name) {
      return Invalid("two entries have the name \"" +
                     files::Printable(one.name) + "\"");
    }
  }
  return {};
}

class Decoder {
 public:
  Decoder(std::string_view bytes, DigestFunction function)
      : bytes_(bytes),
        in_(reinterpret_cast<const uint8_t*>(bytes.data()),
            static_cast<int>(bytes.size())),
        function_(function) {}

  Result<Directory> Run() {
    while (const uint32_t tag = in_.ReadTag()) RETURN_IF_ERROR(ReadField(tag));
    if (!in_.ConsumedEntireMessage()) return Garbled();
    ASSIGN_OR_RETURN(directory_.properties, Read(properties_));
    RETURN_IF_ERROR(CheckDisjoint(directory_.files, directory_.directories));
    RETURN_IF_ERROR(CheckDisjoint(directory_.files, directory_.symlinks));
    RETURN_IF_ERROR(CheckDisjoint(directory_.directories, directory_.symlinks));
    return std::move(directory_);
  }

 private:
  Result<void> ReadField(uint32_t tag) {
    using Message = proto::Directory;
    switch (tag) {
      case Tag(Message::kFilesFieldNumber):
        return ReadNode("file", file_, directory_.files);
      case Tag(Message::kDirectoriesFieldNumber):
        return ReadNode("directory", child_, directory_.directories);
      case Tag(Message::kSymlinksFieldNumber):
        return ReadNode("symbolic link", link_, directory_.symlinks);
      case Tag(Message::kNodePropertiesFieldNumber): return ReadOwnProperties();
      default:
        if (!WireFormatLite::SkipField(&in_, tag)) return Garbled();
        return {};
    }
  }

  template <typename Message, typename Node>
  Result<void> ReadNode(std::string_view kind, Message& message,
                        std::vector<Node>& list) {
    ASSIGN_OR_RETURN(const std::string_view bytes, NextMessage());
    Node node;
    if (auto read = ReadNode(bytes, message, list, node); !read) {
      return Wrap(read.error(), std::string(kind) + " \"" +
                                    files::Printable(message.name()) + "\"");
    }
    node.name = std::move(*message.mutable_name());
    list.push_back(std::move(node));
    return {};
  }

  template <typename Message, typename Node>
  Result<void> ReadNode(std::string_view bytes, Message& message,
                        const std::vector<Node>& before, Node& node) const {
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return Invalid("it is cut, garbled or not UTF-8");
    }
    RETURN_IF_ERROR(CheckNextName(before, message.name()));
    return Read(message, function_, node);
  }

  // A field that stands twice is merged, as everywhere in protobuf.
  Result<void> ReadOwnProperties() {
    ASSIGN_OR_RETURN(const std::string_view bytes, NextMessage());
    if (!properties_.MergeFromString(std::string(bytes))) return Garbled();
    return {};
  }

  // The bytes of the submessage that begins here; moves behind it.
  Result<std::string_view> NextMessage() {
    uint32_t length = 0;
    if (!in_.ReadVarint32(&length)) return Garbled();
    const auto begin = static_cast<size_t>(in_.CurrentPosition());
    if (length > bytes_.size() - begin) return Garbled();
    in_.Skip(static_cast<int>(length));
    return bytes_.substr(begin, length);
  }

  const std::string_view bytes_;
  CodedInputStream in_;
  const DigestFunction function_;
  Directory directory_;
  proto::FileNode file_;
  proto::DirectoryNode child_;
  proto::SymlinkNode link_;
  proto::NodeProperties properties_;
};

}  // namespace

std::string Encode(Directory directory) {
  using Message = proto::Directory;
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  CodedOutputStream out(&stream);
  WriteSorted<proto::FileNode>(Message::kFilesFieldNumber, directory.files,
                               out);
  WriteSorted<proto::DirectoryNode>(Message::kDirectoriesFieldNumber,
                                    directory.directories, out);
  WriteSorted<proto::SymlinkNode>(Message::kSymlinksFieldNumber,
                                  directory.symlinks, out);
  if (!directory.properties.empty()) {
    proto::NodeProperties properties;
    Fill(directory.properties, properties);
    Write(Message::kNodePropertiesFieldNumber, properties, out);
  }
  out.Trim();
  return bytes;
}

Result<Directory> Decode(std::string_view bytes, DigestFunction function) {
  // Without it, protobuf itself prints to stderr about text that is not UTF-8.
  const google::protobuf::LogSilencer silencer;
  auto directory = bytes.size() > INT_MAX
                       ? Result<Directory>(Invalid("it is above 2 GiB"))
                       : Decoder(bytes, function).Run();
  if (!directory) return Wrap(directory.error(), "not a valid Directory");
  return directory;
}

}  // namespace casemate::tree
