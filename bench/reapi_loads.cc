#include "bench/reapi_loads.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <utility>

#include "base/check.h"
#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "codec/zstd.h"
#include "digest/hasher.h"
#include "reapi/wire/bytestream_messages.h"

namespace casemate::bench {
namespace {

namespace pb = build::bazel::remote::execution::v2;

constexpr size_t kMessage = size_t{1} << 20;
constexpr size_t kLine = 64;  // What is new in a large text.

// Another each time; a server's store lives no longer than this process.
uint64_t NextNumber() {
  static uint64_t last = 0;
  return ++last;
}

Digest DigestOf(std::string_view text) {
  return digest::Hash(DigestFunction::kSha256, AsBytes(text));
}

pb::Digest ToProto(const Digest& digest) {
  pb::Digest proto;
  proto.set_hash(digest.Hex());
  proto.set_size_bytes(digest.size());
  return proto;
}

std::string Noise(size_t size, uint64_t seed) {
  std::mt19937_64 noise(seed);
  std::string text(size, '\0');
  for (size_t i = 0; i + 8 <= size; i += 8) {
    const uint64_t word = noise();
    std::copy_n(reinterpret_cast<const char*>(&word), 8, text.data() + i);
  }
  return text;
}

grpc::Slice ToSlice(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }

grpc::ByteBuffer ToMessage(const google::protobuf::Message& message) {
  return ToBuffer(message.SerializeAsString());
}

// `ToRequest` fills one message for the blobs from `begin` to `end`.
template <typename Fill>
Messages InBatches(const SmallBlobs& blobs, size_t batch, Fill fill) {
  Messages messages;
  for (size_t begin = 0; begin < blobs.digests.size(); begin += batch) {
    const size_t end = std::min(begin + batch, blobs.digests.size());
    messages.push_back(fill(begin, end));
  }
  return messages;
}

// So that zstd makes about a third of it.
std::string Words(size_t size) {
  std::mt19937_64 random(7);
  std::vector<std::string> words(4096);
  for (std::string& word : words) {
    word.resize(3 + random() % 8);
    for (char& letter : word) letter = static_cast<char>('a' + random() % 26);
    word += ' ';
  }
  std::string text;
  text.reserve(size + 16);
  while (text.size() < size) text += words[random() % words.size()];
  text.resize(size);
  return text;
}

std::string OneFrame(std::string_view text) {
  std::string frame(codec::EncodedBound(text.size()), '\0');
  const auto size = codec::EncodeFrame(
      AsBytes(text), std::as_writable_bytes(std::span(frame)));
  CASEMATE_CHECK(size.has_value());
  frame.resize(*size);
  return frame;
}

}  // namespace

SmallBlobs MakeSmallBlobs(int count) {
  SmallBlobs blobs;
  const std::string noise = Noise(kSmallBlob, 1);
  for (int i = 0; i < count; ++i) {
    blobs.contents.push_back(std::to_string(NextNumber()) + "\n" + noise);
    blobs.contents.back().resize(kSmallBlob);
    blobs.digests.push_back(DigestOf(blobs.contents.back()));
  }
  return blobs;
}

Load Unary(const std::string& path, std::shared_ptr<const Messages> messages,
           int calls, int width) {
  Load load;
  load.path = path;
  load.calls = calls;
  load.width = width;
  load.request = [messages = std::move(messages)](int call, int) {
    return (*messages)[static_cast<size_t>(call) % messages->size()];
  };
  return load;
}

Messages Reads(const SmallBlobs& blobs) {
  return InBatches(blobs, 1, [&](size_t i, size_t) {
    return ReadMessage("blobs/" + blobs.digests[i].ToString());
  });
}

Messages Writes(const SmallBlobs& blobs) {
  return InBatches(blobs, 1, [&](size_t i, size_t) {
    return WriteMessage(UploadPrefix() + "blobs/" + blobs.digests[i].ToString(),
                        0, true, grpc::Slice(blobs.contents[i]));
  });
}

Messages BatchReads(const SmallBlobs& blobs, size_t batch) {
  return InBatches(blobs, batch, [&](size_t begin, size_t end) {
    pb::BatchReadBlobsRequest request;
    for (size_t i = begin; i < end; ++i) {
      *request.add_digests() = ToProto(blobs.digests[i]);
    }
    return ToMessage(request);
  });
}

Messages BatchUpdates(const SmallBlobs& blobs, size_t batch) {
  return InBatches(blobs, batch, [&](size_t begin, size_t end) {
    pb::BatchUpdateBlobsRequest request;
    for (size_t i = begin; i < end; ++i) {
      auto& item = *request.add_requests();
      *item.mutable_digest() = ToProto(blobs.digests[i]);
      item.set_data(blobs.contents[i]);
    }
    return ToMessage(request);
  });
}

Messages FindMissing(const SmallBlobs& blobs) {
  return InBatches(blobs, blobs.digests.size(), [&](size_t, size_t) {
    pb::FindMissingBlobsRequest request;
    for (const Digest& digest : blobs.digests) {
      *request.add_blob_digests() = ToProto(digest);
    }
    return ToMessage(request);
  });
}

std::string CasMethod(const std::string& name) {
  return "/build.bazel.remote.execution.v2.ContentAddressableStorage/" + name;
}

std::string UploadPrefix() {
  char uuid[40];
  std::snprintf(uuid, sizeof uuid, "00000000-0000-4000-8000-%012llx",
                static_cast<unsigned long long>(NextNumber()));
  return std::string("uploads/") + uuid + "/";
}

grpc::ByteBuffer WriteMessage(const std::string& resource, int64_t offset,
                              bool finish, const grpc::Slice& data) {
  const Bytes head =
      reapi::WriteRequestHead({resource, offset, finish, {}}, data.size());
  const std::array<grpc::Slice, 2> slices = {ToSlice(head), data};
  return {slices.data(), slices.size()};
}

grpc::ByteBuffer ReadMessage(const std::string& resource) {
  const grpc::Slice slice =
      ToSlice(reapi::FormatReadRequest({.resource_name = resource}));
  return {&slice, 1};
}

LargeBlob::LargeBlob(Kind kind, int64_t size) : kind_(kind), size_(size) {
  kind == Kind::kNoise ? MakeNoise() : MakeText();
  Renew();
}

void LargeBlob::MakeNoise() {
  rest_ = first_ = Noise(kMessage, 2);
  repeats_ = size_ / static_cast<int64_t>(kMessage) - 1;
  slices_.assign(static_cast<size_t>(repeats_) + 1, grpc::Slice(rest_));
}

void LargeBlob::MakeText() {
  rest_ = Words(static_cast<size_t>(size_) - kLine);
  const std::string frame = OneFrame(rest_);
  slices_.emplace_back();  // The first frame, which Renew makes.
  for (size_t at = 0; at < frame.size(); at += kMessage) {
    slices_.emplace_back(frame.substr(at, kMessage));
  }
}

void LargeBlob::Renew() {
  std::string line = "blob " + std::to_string(NextNumber());
  line.resize(kLine, '\n');
  first_.replace(0, kLine, line);
  const bool text = kind_ == Kind::kText;
  slices_[0] = grpc::Slice(text ? OneFrame(first_) : first_);
  digest::Hasher hasher(DigestFunction::kSha256);
  hasher.Update(AsBytes(first_));
  for (int64_t i = 0; i < repeats_; ++i) hasher.Update(AsBytes(rest_));
  digest_ = hasher.Finish();
  upload_name_ = UploadPrefix() + read_name();
}

std::string LargeBlob::read_name() const {
  const bool text = kind_ == Kind::kText;
  return (text ? "compressed-blobs/zstd/" : "blobs/") + digest_.ToString();
}

grpc::ByteBuffer LargeBlob::MessageOfUpload(size_t number) const {
  const size_t offset =
      number == 0 ? 0 : slices_[0].size() + (number - 1) * kMessage;
  return WriteMessage(number == 0 ? upload_name_ : std::string(),
                      static_cast<int64_t>(offset),
                      number + 1 == slices_.size(), slices_[number]);
}

Load LargeBlob::Upload() const {
  Load load;
  load.path = kWrite;
  load.width = 1;
  load.request = [this](int, int message) {
    return MessageOfUpload(static_cast<size_t>(message));
  };
  load.requests = static_cast<int>(slices_.size());
  return load;
}

Load LargeBlob::Read(int calls, int width) const {
  Load load;
  load.path = kRead;
  load.calls = calls;
  load.width = width;
  load.request = [request = ReadMessage(read_name())](int, int) {
    return request;
  };
  for (const grpc::Slice& each : slices_) {
    load.answer_at_least += static_cast<int64_t>(each.size());
  }
  return load;
}

}  // namespace casemate::bench
