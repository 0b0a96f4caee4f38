#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "codec/zstd.h"
#include "digest/hasher.h"
#include "reapi/server/answers.h"
#include "reapi/server/cas_service.h"
#include "reapi/wire/batch_messages.h"

namespace casemate::reapi {
namespace {

// A store in memory keeps the bytes that it is given, and with them the buffer
// in which they came: items below this part of the message are copied.
constexpr size_t kShareAtLeast = 4;

Error Bad(std::string why) { return {kBadUpload, std::move(why)}; }

// The sum of the sizes, or INT64_MAX.
int64_t TotalOf(std::span<const BatchUpdateItem> items) {
  int64_t total = 0;
  for (const BatchUpdateItem& item : items) {
    if (item.digest.size() > INT64_MAX - total) return INT64_MAX;
    total += item.digest.size();
  }
  return total;
}

// The blob that `frames` decode to, under its declared size as a hard stop.
Result<Bytes> Decoded(const Slices& frames, int64_t declared) {
  const auto size = static_cast<size_t>(declared);
  auto owner = std::make_shared_for_overwrite<std::byte[]>(size);
  std::span<std::byte> rest(owner.get(), size);
  codec::Decoder decoder(declared);
  for (size_t i = 0; i < frames.count(); ++i) {
    std::span<const std::byte> input = frames.piece(i).span();
    while (!input.empty()) {
      auto step = decoder.Decode(input, rest);
      if (!step) return Bad(std::move(step).error().message);
      if (step->consumed == 0 && step->produced == 0) {
        return Bad("decompress with zstd: the stream does not go on");
      }
      input = input.subspan(step->consumed);
      rest = rest.subspan(step->produced);
    }
  }
  // What the last input still holds back.
  while (!decoder.at_border()) {
    auto step = decoder.Decode({}, rest);
    if (!step) return Bad(std::move(step).error().message);
    if (step->produced == 0) break;
    rest = rest.subspan(step->produced);
  }
  if (!decoder.at_border()) return Bad("the zstd frame has no end");
  if (!rest.empty()) {
    return Bad("it decompresses to " + std::to_string(size - rest.size()) +
               " bytes, not to " + std::to_string(size));
  }
  return Bytes::Share(owner, std::span(owner.get(), size));
}

class BatchUpdateCall : public CasCall {
 public:
  using CasCall::CasCall;

 private:
  Result<Needs> Parse(rpc::Message request) override {
    message_bytes_ = request.size();
    ASSIGN_OR_RETURN(request_, ParseBatchUpdateRequest(request.pieces()));
    const int64_t total = TotalOf(request_.items);
    if (total > kMaxBatchTotalBytes) {
      return Error{kMalformed, "the blobs of the batch have more than " +
                                   std::to_string(kMaxBatchTotalBytes) +
                                   " bytes"};
    }
    has_zstd_ = std::ranges::any_of(request_.items, [](const auto& item) {
      return item.compressor == kCompressorZstd;
    });
    const auto bytes = static_cast<int64_t>(message_bytes_);
    return Needs{request_.instance, has_zstd_ ? bytes + total : bytes};
  }

  // To decode may take long, whatever the store.
  bool TryServe(const Backend& backend) override {
    if (!backend.store.NeverWaits() || has_zstd_) return false;
    Serve(backend);
    return true;
  }

  void Serve(const Backend& backend) override {
    BlobStore& store = backend.store;
    results_.reserve(request_.items.size());
    std::vector<Blob> blobs;
    std::vector<size_t> numbers;  // Of their items.
    for (size_t i = 0; i < request_.items.size(); ++i) {
      const BatchUpdateItem& item = request_.items[i];
      results_.push_back({item.digest, {}});
      if (digest::IsEmpty(item.digest) && item.data.empty()) continue;
      auto blob = ToBlob(item, store.NeverWaits());
      if (blob) {
        blobs.push_back(*std::move(blob));
        numbers.push_back(i);
      } else {
        results_[i].status = ToItemStatus(blob.error());
      }
    }
    Store(store, blobs, numbers);
    Answer();
  }

  Result<Blob> ToBlob(const BatchUpdateItem& item, bool is_kept) const {
    const int64_t limit = parts().settings.max_cas_blob_size;
    if (limit > 0 && item.digest.size() > limit) {
      return Bad("blobs may have at most " + std::to_string(limit) + " bytes");
    }
    if (item.compressor == kCompressorZstd) {
      ASSIGN_OR_RETURN(Bytes bytes, Decoded(item.data, item.digest.size()));
      return Blob::Claimed(item.digest, std::move(bytes))
          .WithZstd(Own(item.data.Joined(), is_kept));
    }
    if (item.compressor != kCompressorIdentity) {
      return Error{kUnknownCompressor, "compressor " +
                                           std::to_string(item.compressor) +
                                           " is not offered for batches"};
    }
    if (static_cast<int64_t>(item.data.size()) != item.digest.size()) {
      return Bad("it has " + std::to_string(item.data.size()) + " bytes, not " +
                 std::to_string(item.digest.size()));
    }
    return Blob::Claimed(item.digest, Own(item.data.Joined(), is_kept));
  }

  Bytes Own(Bytes bytes, bool is_kept) const {
    const bool shares = bytes.size() >= message_bytes_ / kShareAtLeast;
    return is_kept && !shares ? Bytes::Copy(bytes.span()) : bytes;
  }

  void Store(BlobStore& store, std::span<const Blob> blobs,
             std::span<const size_t> numbers) {
    if (blobs.empty()) return;
    const auto stored = store.PutMany(call().context(), blobs);
    for (size_t i = 0; i < blobs.size(); ++i) {
      if (stored[i]) {
        parts().arrivals.Tell(store, blobs[i].digest());
      } else {
        results_[numbers[i]].status =
            ToItemStatus(UploadError(stored[i].error()));
      }
    }
  }

  // A peer that sends a large message is taken to receive one as large; codes
  // without words must do where that is not enough.
  void Answer() {
    Bytes answer = FormatBatchUpdateResponse(results_);
    if (answer.size() > std::max(kPeerMessageLimit, message_bytes_)) {
      for (BatchUpdateResult& each : results_) each.status.message.clear();
      answer = FormatBatchUpdateResponse(results_);
    }
    call().FinishWith(rpc::Message(std::move(answer)));
  }

  BatchUpdateRequest request_;
  std::vector<BatchUpdateResult> results_;
  size_t message_bytes_ = 0;
  bool has_zstd_ = false;
};

}  // namespace

std::unique_ptr<rpc::Handler> StartBatchUpdate(rpc::Call& call,
                                               const ServerParts& parts) {
  return std::make_unique<BatchUpdateCall>(call, parts);
}

}  // namespace casemate::reapi
