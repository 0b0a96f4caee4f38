#include "reapi/wire/resource_name.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/try.h"
#include "reapi/wire/choices.h"
#include "reapi/wire/digest_fields.h"
#include "reapi/wire/fields.h"

namespace casemate::reapi {
namespace {

constexpr std::string_view kBlobs = "blobs";
constexpr std::string_view kCompressedBlobs = "compressed-blobs";
constexpr std::string_view kUploads = "uploads";
constexpr std::array<std::string_view, 7> kReserved = {
    kBlobs,       kUploads,       "actions",        "actionResults",
    "operations", "capabilities", kCompressedBlobs,
};

constexpr size_t kQuoted = 200;  // Of a name, in an error.

bool IsReserved(std::string_view segment) {
  return std::ranges::find(kReserved, segment) != kReserved.end();
}

// The segments of a name from the left. An empty name has one, which is empty.
class Segments {
 public:
  explicit Segments(std::string_view text) : rest_(text) {}

  // nullopt after the last.
  std::optional<std::string_view> Next() {
    if (ended_) return std::nullopt;
    const size_t slash = rest_.find('/');
    const std::string_view segment = rest_.substr(0, slash);
    ended_ = slash == std::string_view::npos;
    rest_.remove_prefix(ended_ ? rest_.size() : slash + 1);
    return segment;
  }

  std::string_view rest() const { return rest_; }
  bool ended() const { return ended_; }

 private:
  std::string_view rest_;
  bool ended_ = false;
};

Error Malformed(std::string_view text, std::string_view why) {
  return {kMalformed, "resource name \"" +
                          std::string(text.substr(0, kQuoted)) +
                          "\": " + std::string(why)};
}

// `text` parted into the instance, which is all before the first segment that
// `begins` says yes to, and that segment with what follows.
struct Parted {
  std::string_view instance;
  std::string_view word;
  Segments rest;
};
template <typename Begins>
std::optional<Parted> Part(std::string_view text, Begins begins) {
  Segments segments(text);
  while (const auto segment = segments.Next()) {
    if (!begins(*segment)) continue;
    const auto before = static_cast<size_t>(segment->data() - text.data());
    return Parted{text.substr(0, before == 0 ? 0 : before - 1), *segment,
                  segments};
  }
  return std::nullopt;
}

bool IsBlobsWord(std::string_view segment) {
  return segment == kBlobs || segment == kCompressedBlobs;
}

// What follows "blobs" or "compressed-blobs":
// [COMPRESSOR/][FUNCTION/]HASH/SIZE.
Result<void> ParseBlob(std::string_view text, std::string_view word,
                       Segments& segments, ResourceName& name) {
  if (word == kCompressedBlobs) {
    const auto compressor = segments.Next();
    if (compressor != "zstd") {
      return Error{kUnknownCompressor,
                   Malformed(text, "the only compressor here is zstd").message};
    }
    name.encoding = Encoding::kZstd;
  }
  auto hash = segments.Next();
  std::optional<std::string_view> function;
  if (hash && IsFunctionName(*hash)) {
    function = std::exchange(hash, segments.Next());
    if (!ParseDigestFunction(*function)) {
      return Error{kUnknownFunction,
                   Malformed(text,
                             "this server does not have the digest "
                             "function " +
                                 std::string(*function))
                       .message};
    }
  }
  const auto size = segments.Next();
  if (!hash || !size) return Malformed(text, "HASH/SIZE is missing");
  // They stand side by side in `text`, with their slash.
  auto digest = Digest::Parse({hash->data(), hash->size() + 1 + size->size()});
  if (!digest) return Malformed(text, digest.error().message);
  if (function && DigestFunctionName(digest->function()) != *function) {
    return Error{kUnknownFunction,
                 Malformed(text, "the hash is none of that function").message};
  }
  name.digest = *digest;
  return {};
}

// One leading slash is dropped where the instance is empty (D-16).
std::string_view DropSlash(std::string_view text,
                           bool (*begins)(std::string_view)) {
  if (text.empty() || text.front() != '/') return text;
  const std::string_view rest = text.substr(1);
  return begins(*Segments(rest).Next()) ? rest : text;
}

Result<void> CheckWhole(std::string_view text) {
  if (text.size() > kMaxNameBytes) {
    return Malformed(text,
                     "longer than " + std::to_string(kMaxNameBytes) + " bytes");
  }
  if (text.empty()) return Malformed(text, "it is empty");
  if (!IsUtf8(text)) return Error{kMalformed, "a resource name is not UTF-8"};
  return {};
}

bool IsUploadsWord(std::string_view segment) { return segment == kUploads; }

std::string FormatBlob(const ResourceName& name) {
  const bool zstd = name.encoding == Encoding::kZstd;
  return (zstd ? "compressed-blobs/zstd/" : "blobs/") + name.digest.ToString();
}

std::string FormatInstance(std::string_view instance) {
  return instance.empty() ? std::string() : std::string(instance) + "/";
}

}  // namespace

Result<ResourceName> ParseReadName(std::string_view text) {
  RETURN_IF_ERROR(CheckWhole(text));
  auto parted = Part(DropSlash(text, IsBlobsWord), IsBlobsWord);
  if (!parted) {
    return Malformed(text, "neither blobs nor compressed-blobs is in it");
  }
  ResourceName name;
  name.instance = parted->instance;
  RETURN_IF_ERROR(CheckInstanceName(name.instance));
  RETURN_IF_ERROR(ParseBlob(text, parted->word, parted->rest, name));
  if (!parted->rest.ended()) {
    return Malformed(text, "something follows the size");
  }
  return name;
}

Result<ResourceName> ParseWriteName(std::string_view text) {
  RETURN_IF_ERROR(CheckWhole(text));
  auto parted = Part(DropSlash(text, IsUploadsWord), IsUploadsWord);
  if (!parted) return Malformed(text, "uploads is not in it");
  ResourceName name;
  name.instance = parted->instance;
  RETURN_IF_ERROR(CheckInstanceName(name.instance));
  const auto uuid = parted->rest.Next();
  const auto word = parted->rest.Next();
  if (!uuid || uuid->empty() || !word || !IsBlobsWord(*word)) {
    return Malformed(
        text,
        "uploads/UUID/ and blobs or compressed-blobs should follow "
        "the instance");
  }
  name.uuid = *uuid;
  RETURN_IF_ERROR(ParseBlob(text, *word, parted->rest, name));
  return name;  // What follows is metadata, and means nothing.
}

std::string FormatReadName(const ResourceName& name) {
  return FormatInstance(name.instance) + FormatBlob(name);
}

std::string FormatWriteName(const ResourceName& name) {
  return FormatInstance(name.instance) + "uploads/" + std::string(name.uuid) +
         "/" + FormatBlob(name);
}

std::string ViolationSubject(const Digest& digest) {
  return "blobs/" + digest.ToString();
}

Result<void> CheckInstanceName(std::string_view name) {
  if (name.empty()) return {};
  const auto bad = [&](std::string_view why) {
    return Error{kBadInstance, "instance name \"" +
                                   std::string(name.substr(0, kQuoted)) +
                                   "\": " + std::string(why)};
  };
  if (name.size() > kMaxNameBytes) return bad("it is too long");
  if (!IsUtf8(name)) return Error{kBadInstance, "instance name: not UTF-8"};
  Segments segments(name);
  while (const auto segment = segments.Next()) {
    if (segment->empty()) return bad("it has an empty segment");
    if (*segment == "." || *segment == "..")
      return bad("no . or .. may be in it");
    if (IsReserved(*segment)) {
      return bad("the word " + std::string(*segment) + " is reserved");
    }
  }
  return {};
}

}  // namespace casemate::reapi
