#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "codec/zstd.h"
#include "reapi/server/answers.h"
#include "reapi/server/cas_service.h"
#include "reapi/wire/batch_messages.h"

namespace casemate::reapi {
namespace {

// Below this, to compress saves next to nothing.
constexpr int64_t kCompressAtLeast = 1024;

// For an item that a client shall fetch by itself (D-19); the second where
// there is no room for words.
const ItemStatus kDoesNotFit = {
    Code::kResourceExhausted,
    "it does not fit into the answer: read it with ByteStream"};
const ItemStatus kDoesNotFitBare = {Code::kResourceExhausted, {}};

// A blob as it leaves.
struct Data {
  Bytes bytes;
  Encoding encoding = Encoding::kIdentity;
};

int64_t TotalOf(std::span<const Digest> digests) {
  int64_t total = 0;
  for (const Digest& digest : digests) {
    if (digest.size() > INT64_MAX - total) return INT64_MAX;
    total += digest.size();
  }
  return total;
}

Error Truncated() {
  return {kTruncatedBlob, "what is stored does not have the blob's size"};
}

// One blob from its reader, if `next` always has bytes: Next, or TryNext.
// Nothing larger than the blob itself is taken: nullopt inside.
template <typename NextFunction>
std::optional<Result<std::optional<Data>>> ReadWhole(const Digest& digest,
                                                     Reader& reader,
                                                     NextFunction next) {
  const auto size = static_cast<size_t>(digest.size());
  const bool is_identity = reader.encoding() == Encoding::kIdentity;
  Bytes first;
  std::string joined;  // Of several pieces.
  size_t got = 0;
  while (got <= size) {
    auto piece = next(reader, std::max<size_t>(size - got, 1));
    if (!piece) return std::nullopt;
    if (!*piece) return std::move(*piece).error();
    if ((*piece)->empty()) break;  // Only now it has been verified.
    if (got > 0) {
      joined += std::exchange(first, {}).view();
      joined += (*piece)->view();
    } else {
      first = **std::move(piece);
    }
    got = first.size() + joined.size();
  }
  if (is_identity && got != size) return Truncated();
  if (got > size) return std::optional<Data>();
  return std::optional<Data>(
      {joined.empty() ? std::move(first) : Bytes::FromString(std::move(joined)),
       reader.encoding()});
}

// As one frame, if that saves something.
std::optional<Bytes> Compressed(const Bytes& bytes, int level) {
  // What is compressed to less than nineteen parts of twenty.
  std::string frame(bytes.size() - bytes.size() / 20, '\0');
  codec::Encoder encoder(static_cast<int64_t>(bytes.size()), level);
  const auto step = encoder.Encode(
      bytes.span(), std::as_writable_bytes(std::span(frame)), true);
  if (!step || !encoder.done()) return std::nullopt;
  frame.resize(step->produced);
  frame.shrink_to_fit();
  return Bytes::FromString(std::move(frame));
}

class BatchReadCall : public CasCall {
 public:
  using CasCall::CasCall;

 private:
  using Item = std::optional<Result<Data>>;

  Result<Needs> Parse(rpc::Message request) override {
    ASSIGN_OR_RETURN(request_, ParseBatchReadRequest(request.pieces()));
    const int64_t total = TotalOf(request_.digests);
    if (total > kMaxBatchTotalBytes) {
      return Error{kMalformed, "the blobs of the batch have more than " +
                                   std::to_string(kMaxBatchTotalBytes) +
                                   " bytes"};
    }
    limit_ = std::max(kPeerMessageLimit - kMessageMargin, request.size());
    for (const Digest& digest : request_.digests) {
      least_ += BatchReadResponse::ItemSize(digest, kDoesNotFitBare);
    }
    if (least_ > limit_) {
      return Error{kMalformed, "the answer for so many blobs (" +
                                   std::to_string(request_.digests.size()) +
                                   ") would not fit into a message"};
    }
    items_.resize(request_.digests.size());
    return Needs{request_.instance, total + static_cast<int64_t>(least_)};
  }

  bool TryServe(const Backend& backend) override {
    bool all = true;
    for (size_t i = 0; i < items_.size(); ++i) {
      items_[i] = TryRead(backend.store, request_.digests[i]);
      all = all && items_[i] && !ShouldCompress(i);
    }
    if (all) Answer();
    return all;
  }

  Item TryRead(BlobStore& store, const Digest& digest) const {
    const auto reader = store.TryGet(digest, 0, {request_.accepts_zstd});
    if (!reader) return std::nullopt;
    if (!*reader) return Result<Data>(reader->error());
    auto data = ReadWhole(digest, ***reader, [](Reader& from, size_t most) {
      return from.TryNext(most);
    });
    if (!data) return std::nullopt;
    if (!*data) return Result<Data>(data->error());
    if (!**data) return std::nullopt;  // Larger than as identity: once more.
    return Result<Data>(***std::move(data));
  }

  // Only where it may take its time.
  bool ShouldCompress(size_t i) const {
    return request_.accepts_zstd && *items_[i] &&
           (*items_[i])->encoding == Encoding::kIdentity &&
           request_.digests[i].size() >= kCompressAtLeast;
  }

  void Serve(const Backend& backend) override {
    BlobStore& store = backend.store;
    if (request_.accepts_zstd) {
      ReadEncoded(store);
    } else {
      ReadPlain(store);
    }
    Answer();
  }

  void ReadPlain(BlobStore& store) {
    std::vector<Digest> digests;
    std::vector<size_t> numbers;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (items_[i]) continue;
      digests.push_back(request_.digests[i]);
      numbers.push_back(i);
    }
    auto blobs = store.GetMany(call().context(), digests);
    for (size_t i = 0; i < blobs.size(); ++i) {
      items_[numbers[i]] = blobs[i] ? Result<Data>(Data{blobs[i]->bytes()})
                                    : Result<Data>(std::move(blobs[i]).error());
    }
  }

  void ReadEncoded(BlobStore& store) {
    for (size_t i = 0; i < items_.size(); ++i) {
      const Digest& digest = request_.digests[i];
      if (!items_[i]) items_[i] = ReadAsItIs(store, digest);
      if (!ShouldCompress(i)) continue;
      if (auto frame =
              Compressed((*items_[i])->bytes, parts().settings.zstd_level)) {
        items_[i] = Data{*std::move(frame), Encoding::kZstd};
      }
    }
  }

  Result<Data> ReadAsItIs(BlobStore& store, const Digest& digest) {
    auto read = Read(store, digest, {.zstd = true});
    // never larger than the blob itself.
    if (read && !read->has_value()) read = Read(store, digest, {});
    if (!read) return std::move(read).error();
    if (!read->has_value()) return Truncated();
    return **std::move(read);
  }

  Result<std::optional<Data>> Read(BlobStore& store, const Digest& digest,
                                   Accept accept) {
    const Context& ctx = call().context();
    ASSIGN_OR_RETURN(const auto reader,
                     store.GetEncoded(ctx, digest, 0, accept));
    return *ReadWhole(digest, *reader, [&](Reader& from, size_t most) {
      return std::optional(from.Next(ctx, most));
    });
  }

  // In the order of the request; those for which there is no room are told so
  // (D-19, D-20).
  void Answer() {
    BatchReadResponse response;
    size_t least = least_;  // What the items still to come take at least.
    for (size_t i = 0; i < items_.size(); ++i) {
      const Digest& digest = request_.digests[i];
      least -= BatchReadResponse::ItemSize(digest, kDoesNotFitBare);
      const size_t room = limit_ - response.size() - least;
      Add(digest, *std::move(items_[i]), room, response);
    }
    FinishHolding(response.Take());
  }

  static void Add(const Digest& digest, Result<Data> data, size_t room,
                  BatchReadResponse& response) {
    if (data && BatchReadResponse::ItemSize(digest, data->bytes.size(),
                                            data->encoding) <= room) {
      return response.Add(digest, std::move(data->bytes), data->encoding);
    }
    ItemStatus status = data ? kDoesNotFit : ToItemStatus(data.error());
    if (BatchReadResponse::ItemSize(digest, status) > room) {
      status.message.clear();
    }
    response.AddFailure(digest, status);
  }

  BatchReadRequest request_;
  std::vector<Item> items_;  // As far as they have been read.
  size_t limit_ = 0;         // Of the answer.
  size_t least_ = 0;         // What an answer without any data takes.
};

}  // namespace

std::unique_ptr<rpc::Handler> StartBatchRead(rpc::Call& call,
                                             const ServerParts& parts) {
  return std::make_unique<BatchReadCall>(call, parts);
}

}  // namespace casemate::reapi
