#include "actions/action_result.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/try.h"
#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "digest/hasher.h"
#include "files/error.h"
#include "files/utf8.h"
#include "tree/fields.h"

namespace casemate::actions {
namespace {

namespace proto = build::bazel::remote::execution::v2;
using tree::DigestFields;
using tree::Field;
using tree::FieldReader;
using tree::WireType;

// Of ActionResult.
constexpr uint32_t kOutputFiles = 2;
constexpr uint32_t kOutputDirectories = 3;
constexpr uint32_t kStdoutRaw = 5;
constexpr uint32_t kStdoutDigest = 6;
constexpr uint32_t kStderrRaw = 7;
constexpr uint32_t kStderrDigest = 8;
constexpr uint32_t kMetadata = 9;
constexpr uint32_t kFileSymlinks = 10;
constexpr uint32_t kDirectorySymlinks = 11;
constexpr uint32_t kSymlinks = 12;

// Of OutputFile, OutputDirectory and OutputSymlink.
constexpr uint32_t kPath = 1;
constexpr uint32_t kFileDigest = 2;
constexpr uint32_t kLinkTarget = 2;
constexpr uint32_t kTreeDigest = 3;
constexpr uint32_t kLinkProperties = 4;
constexpr uint32_t kContents = 5;
constexpr uint32_t kRootDigest = 5;
constexpr uint32_t kFileProperties = 7;

// What we parse only to see that others can. A generated message may take forty
// times the bytes that it comes from.
constexpr size_t kMaxPropertiesBytes = 64 << 10;
constexpr size_t kMaxMetadataBytes = 1 << 20;

// Blobs that are received inlined in one result.
constexpr size_t kMaxInlined = 10'000;

// More than the tag and the length of inlined data and of its file take.
constexpr size_t kInlineOverhead = 32;

Error Invalid(std::string why) {
  return {Code::kInvalidArgument, std::move(why)};
}

Error Garbled() { return Invalid("the message is cut or garbled"); }

Error NotAResult(Error error) {
  return Wrap(std::move(error), "not a valid ActionResult");
}

// What OutputFile, OutputDirectory and OutputSymlink have in common, and more.
struct Output {
  std::string_view path;
  std::string_view target;
  std::string_view contents;
  DigestFields digest;
  DigestFields tree;
  DigestFields root;
};

template <typename Message>
Result<void> CheckParses(std::string_view bytes, size_t max,
                         std::string_view what) {
  if (bytes.size() > max) {
    return Invalid(std::string(what) + " has more than " + std::to_string(max) +
                   " bytes");
  }
  const google::protobuf::LogSilencer silencer;
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return {};
  }
  return Invalid(std::string(what) + " is cut, garbled or not UTF-8");
}

Result<void> CheckProperties(std::string_view bytes) {
  return CheckParses<proto::NodeProperties>(bytes, kMaxPropertiesBytes,
                                            "its node_properties");
}

// Text that stands twice is checked twice, as everybody's parser does.
Result<void> TakeText(std::string_view bytes, std::string_view& text) {
  text = bytes;
  if (files::IsUtf8(bytes)) return {};
  return Invalid("a text in it is not UTF-8");
}

Result<Output> ReadFile(std::string_view bytes) {
  Output file;
  FieldReader reader(bytes);
  Field field;
  bool ok = true;
  while (reader.Next(field)) {
    if (field.type != WireType::kBytes) continue;
    switch (field.number) {
      case kPath: RETURN_IF_ERROR(TakeText(field.bytes, file.path)); break;
      case kFileDigest: ok &= file.digest.Merge(field.bytes); break;
      case kContents: file.contents = field.bytes; break;
      case kFileProperties:
        RETURN_IF_ERROR(CheckProperties(field.bytes));
        break;
      default: break;
    }
  }
  if (!ok || !reader.ok()) return Garbled();
  return file;
}

Result<Output> ReadDirectory(std::string_view bytes) {
  Output directory;
  FieldReader reader(bytes);
  Field field;
  bool ok = true;
  while (reader.Next(field)) {
    if (field.Is(kPath, WireType::kBytes)) {
      RETURN_IF_ERROR(TakeText(field.bytes, directory.path));
    }
    if (field.Is(kTreeDigest, WireType::kBytes)) {
      ok &= directory.tree.Merge(field.bytes);
    }
    if (field.Is(kRootDigest, WireType::kBytes)) {
      ok &= directory.root.Merge(field.bytes);
    }
  }
  if (!ok || !reader.ok()) return Garbled();
  return directory;
}

Result<Output> ReadSymlink(std::string_view bytes) {
  Output link;
  FieldReader reader(bytes);
  Field field;
  while (reader.Next(field)) {
    if (field.Is(kPath, WireType::kBytes)) {
      RETURN_IF_ERROR(TakeText(field.bytes, link.path));
    }
    if (field.Is(kLinkTarget, WireType::kBytes)) {
      RETURN_IF_ERROR(TakeText(field.bytes, link.target));
    }
    if (field.Is(kLinkProperties, WireType::kBytes)) {
      RETURN_IF_ERROR(CheckProperties(field.bytes));
    }
  }
  if (!reader.ok()) return Garbled();
  return link;
}

std::string Named(std::string_view kind, std::string_view path) {
  return std::string(kind) + " \"" + files::Printable(path.substr(0, 200)) +
         "\"";
}

Result<void> CheckPath(std::string_view path, bool may_be_empty) {
  if (path.starts_with('/')) return Invalid("its path begins with a slash");
  if (path.empty() && !may_be_empty) return Invalid("its path is empty");
  return {};
}

Result<void> CheckDirectory(const Output& directory, DigestFunction function) {
  RETURN_IF_ERROR(CheckPath(directory.path, true));
  if (!directory.tree.there && !directory.root.there) {
    return Invalid("it has no digest");
  }
  if (directory.tree.there) RETURN_IF_ERROR(directory.tree.Check(function));
  if (directory.root.there) RETURN_IF_ERROR(directory.root.Check(function));
  return {};
}

Result<void> CheckSymlink(const Output& link) {
  return CheckPath(link.path, false);
}

// Passes over a result and writes it anew as far as it must change.
class Checker {
 public:
  Checker(DigestFunction function, const Bytes& result)
      : function_(function), result_(result) {}

  Result<CheckedResult> Run() {
    FieldReader reader(result_.view());
    Field field;
    while (reader.Next(field)) RETURN_IF_ERROR(Take(field));
    if (!reader.ok()) return Garbled();
    RETURN_IF_ERROR(End(stdout_, "stdout"));
    RETURN_IF_ERROR(End(stderr_, "stderr"));
    CheckedResult checked;
    checked.result =
        inlined_.empty() ? result_ : Bytes::FromString(std::move(rewritten_));
    checked.inlined = std::move(inlined_);
    return checked;
  }

 private:
  // stdout or stderr: two fields that are kept or replaced together.
  struct Stream {
    uint32_t digest_number;
    std::string_view raw = {};
    DigestFields digest = {};
    std::string whole = {};  // Both fields, as they came.
  };

  Result<void> Take(const Field& field) {
    if (field.type != WireType::kBytes) return Keep(field);
    switch (field.number) {
      case kOutputFiles: return TakeFile(field);
      case kOutputDirectories: return TakeDirectory(field);
      case kFileSymlinks:
      case kDirectorySymlinks:
      case kSymlinks: return TakeSymlink(field);
      case kStdoutRaw:
      case kStdoutDigest: return TakeStream(field, stdout_);
      case kStderrRaw:
      case kStderrDigest: return TakeStream(field, stderr_);
      case kMetadata:
        RETURN_IF_ERROR(CheckParses<proto::ExecutedActionMetadata>(
            field.bytes, kMaxMetadataBytes, "its execution_metadata"));
        return Keep(field);
      default: return Keep(field);
    }
  }

  Result<void> Keep(const Field& field) {
    rewritten_ += field.whole;
    return {};
  }

  Result<void> TakeFile(const Field& field) {
    ASSIGN_OR_RETURN(const Output file, ReadFile(field.bytes));
    if (auto taken = TakeFile(field, file); !taken) {
      return Wrap(taken.error(), Named("output file", file.path));
    }
    return {};
  }

  Result<void> TakeFile(const Field& field, const Output& file) {
    RETURN_IF_ERROR(CheckPath(file.path, false));
    if (file.contents.empty()) {
      RETURN_IF_ERROR(file.digest.Check(function_));
      return Keep(field);
    }
    ASSIGN_OR_RETURN(const Digest digest, TakeOut(file.contents, file.digest));
    std::string message;
    FieldReader reader(field.bytes);
    Field part;
    while (reader.Next(part)) {
      const bool replaced = part.Is(kFileDigest, WireType::kBytes) ||
                            part.Is(kContents, WireType::kBytes);
      if (!replaced) message += part.whole;
    }
    tree::AppendDigest(kFileDigest, digest, message);
    tree::AppendBytes(kOutputFiles, message, rewritten_);
    return {};
  }

  Result<void> TakeDirectory(const Field& field) {
    ASSIGN_OR_RETURN(const Output directory, ReadDirectory(field.bytes));
    if (auto checked = CheckDirectory(directory, function_); !checked) {
      return Wrap(checked.error(), Named("output directory", directory.path));
    }
    return Keep(field);
  }

  Result<void> TakeSymlink(const Field& field) {
    ASSIGN_OR_RETURN(const Output link, ReadSymlink(field.bytes));
    if (auto checked = CheckSymlink(link); !checked) {
      return Wrap(checked.error(), Named("output symlink", link.path));
    }
    return Keep(field);
  }

  Result<void> TakeStream(const Field& field, Stream& stream) {
    stream.whole += field.whole;
    if (field.number != stream.digest_number) {
      stream.raw = field.bytes;
    } else if (!stream.digest.Merge(field.bytes)) {
      return Garbled();
    }
    return {};
  }

  Result<void> End(const Stream& stream, std::string_view name) {
    if (stream.raw.empty()) {
      rewritten_ += stream.whole;
      if (!stream.digest.there) return {};
      if (auto good = stream.digest.Check(function_); !good) {
        return Wrap(good.error(), name);
      }
      return {};
    }
    const auto digest = TakeOut(stream.raw, stream.digest);
    if (!digest) return Wrap(digest.error(), name);
    tree::AppendDigest(stream.digest_number, *digest, rewritten_);
    return {};
  }

  // A copy, lest the blob keep the whole request in memory.
  Result<Digest> TakeOut(std::string_view contents, const DigestFields& given) {
    if (inlined_.size() == kMaxInlined) {
      return Invalid("more than " + std::to_string(kMaxInlined) +
                     " blobs are inlined");
    }
    Blob blob = Blob::Of(function_, Bytes::Copy(AsBytes(contents)));
    const Digest digest = blob.digest();
    if (given.there) {
      ASSIGN_OR_RETURN(const Digest said, given.Check(function_));
      if (said != digest) {
        return Invalid("what is inlined has the digest " + digest.ToString() +
                       ", not " + said.ToString());
      }
    }
    inlined_.push_back(std::move(blob));
    return digest;
  }

  const DigestFunction function_;
  const Bytes& result_;
  std::string rewritten_;
  std::vector<Blob> inlined_;
  Stream stdout_ = {kStdoutDigest};
  Stream stderr_ = {kStderrDigest};
};

// Adds `found` if there is room for it in an answer of `max_bytes`.
void AddIfItFits(Inlineable found, size_t max_bytes, size_t& bytes,
                 std::vector<Inlineable>& all) {
  const int64_t size = found.digest.size();
  if (size == 0 || bytes + kInlineOverhead > max_bytes) return;
  const size_t room = max_bytes - bytes - kInlineOverhead;
  if (static_cast<uint64_t>(size) > room) return;
  bytes += static_cast<size_t>(size) + kInlineOverhead;
  all.push_back(std::move(found));
}

}  // namespace

Result<void> ScanResult(DigestFunction function, const Bytes& result,
                        const OnOutput& on_output) {
  DigestFields streams[2];
  const auto tell = [&](OutputKind kind,
                        const DigestFields& fields) -> Result<void> {
    const auto digest = fields.Check(function);
    if (!digest) return NotAResult(digest.error());
    return on_output(kind, *digest);
  };
  FieldReader reader(result.view());
  Field field;
  while (reader.Next(field)) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == kStdoutDigest || field.number == kStderrDigest) {
      const bool is_stderr = field.number == kStderrDigest;
      if (!streams[is_stderr].Merge(field.bytes)) return NotAResult(Garbled());
    } else if (field.number == kOutputFiles) {
      const auto file = ReadFile(field.bytes);
      if (!file) return NotAResult(file.error());
      RETURN_IF_ERROR(tell(OutputKind::kBlob, file->digest));
    } else if (field.number == kOutputDirectories) {
      const auto directory = ReadDirectory(field.bytes);
      if (!directory) return NotAResult(directory.error());
      if (directory->tree.there) {
        RETURN_IF_ERROR(tell(OutputKind::kTree, directory->tree));
      }
      if (directory->root.there) {
        RETURN_IF_ERROR(tell(OutputKind::kDirectory, directory->root));
      }
    }
  }
  if (!reader.ok()) return NotAResult(Garbled());
  for (const DigestFields& stream : streams) {
    if (stream.there) RETURN_IF_ERROR(tell(OutputKind::kBlob, stream));
  }
  return {};
}

Result<CheckedResult> CheckResult(DigestFunction function,
                                  const Bytes& result) {
  auto checked = Checker(function, result).Run();
  if (!checked) return NotAResult(std::move(checked).error());
  return checked;
}

Result<std::vector<Inlineable>> FindInlineable(DigestFunction function,
                                               const Bytes& result,
                                               const InlineWishes& wishes,
                                               size_t max_bytes) {
  std::vector<std::string_view> paths = wishes.output_files;
  std::ranges::sort(paths);
  DigestFields out, err;
  std::vector<Inlineable> candidates = {{}, {}};
  FieldReader reader(result.view());
  Field field;
  for (size_t i = 0; reader.Next(field); ++i) {
    if (field.Is(kStdoutDigest, WireType::kBytes)) out.Merge(field.bytes);
    if (field.Is(kStderrDigest, WireType::kBytes)) err.Merge(field.bytes);
    if (paths.empty() || !field.Is(kOutputFiles, WireType::kBytes)) continue;
    ASSIGN_OR_RETURN(const Output file, ReadFile(field.bytes));
    if (!std::ranges::binary_search(paths, file.path)) continue;
    ASSIGN_OR_RETURN(const Digest digest, file.digest.Check(function));
    candidates.push_back({Inlineable::kFile, i, digest, {}});
  }
  if (!reader.ok()) return NotAResult(Garbled());
  if (wishes.stdout_blob && out.there) {
    ASSIGN_OR_RETURN(const Digest digest, out.Check(function));
    candidates[0] = {Inlineable::kStdout, 0, digest, {}};
  }
  if (wishes.stderr_blob && err.there) {
    ASSIGN_OR_RETURN(const Digest digest, err.Check(function));
    candidates[1] = {Inlineable::kStderr, 0, digest, {}};
  }
  size_t bytes = result.size();
  std::vector<Inlineable> fitting;
  for (Inlineable& each : candidates) {
    AddIfItFits(std::move(each), max_bytes, bytes, fitting);
  }
  return fitting;
}

std::vector<Bytes> WithInlined(const Bytes& result,
                               std::span<const Inlineable> blobs) {
  std::vector<Bytes> pieces;
  size_t done = 0;  // Of `result`.
  const auto keep_until = [&](size_t end) {
    pieces.push_back(result.Slice(done, end - done));
    done = end;
  };
  const auto add = [&](std::string head, const Bytes& data) {
    pieces.push_back(Bytes::FromString(std::move(head)));
    pieces.push_back(data);
  };
  FieldReader reader(result.view());
  Field field;
  auto next = std::ranges::find(blobs, Inlineable::kFile, &Inlineable::kind);
  for (size_t i = 0; reader.Next(field); ++i) {
    if (next == blobs.end() || next->field != i) continue;
    const Bytes& data = (next++)->data;
    if (data.empty()) continue;
    std::string contents;  // Goes behind what the file has already.
    tree::AppendHead(kContents, data.size(), contents);
    std::string head;
    tree::AppendHead(kOutputFiles,
                     field.bytes.size() + contents.size() + data.size(), head);
    const auto offset =
        static_cast<size_t>(field.whole.data() - result.view().data());
    keep_until(offset);
    pieces.push_back(Bytes::FromString(std::move(head)));
    done = offset + field.whole.size() - field.bytes.size();
    keep_until(offset + field.whole.size());
    add(std::move(contents), data);
  }
  keep_until(result.size());
  for (const Inlineable& each : blobs) {
    if (each.kind == Inlineable::kFile || each.data.empty()) continue;
    std::string head;
    tree::AppendHead(each.kind == Inlineable::kStdout ? kStdoutRaw : kStderrRaw,
                     each.data.size(), head);
    add(std::move(head), each.data);
  }
  return pieces;
}

}  // namespace casemate::actions
