#include "reapi/server/byte_stream_read.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/try.h"
#include "reapi/server/byte_stream_query.h"
#include "reapi/wire/bytestream_messages.h"
#include "reapi/wire/choices.h"

namespace casemate::reapi {
namespace {

constexpr size_t kEncodeInput = size_t{256} << 10;  // Read at once.
constexpr size_t kEncodeSlack = size_t{4} << 10;    // Headers, and then some.
constexpr int64_t kTiny = 4 << 10;  // Is encoded on the wire's thread.
constexpr int64_t kEncoderBytes = int64_t{4} << 20;  // Of a context, at most.

// The head of the last message, which keeps the lease until the wire has sent
// it: nobody tells us.
struct LastHead {
  Bytes head;
  Admission::Lease lease;
};

Bytes WithLease(Bytes head, Admission::Lease lease) {
  auto last =
      std::make_shared<LastHead>(LastHead{std::move(head), std::move(lease)});
  const auto span = last->head.span();
  return Bytes::Share(std::move(last), span);
}

}  // namespace

ReadCall::ReadCall(const StreamParts& parts, rpc::Call& call)
    : parts_(parts), call_(call), turn_(parts.admission, call) {
  call_.Read();
}

void ReadCall::OnMessage(rpc::Message message) {
  if (auto parsed = Parse(message); !parsed) {
    return call_.Finish(rpc::Status(std::move(parsed).error()));
  }
  Open();
}

void ReadCall::OnHalfClose() {
  call_.Finish(rpc::Status(kMalformed, "a Read without a request"));
}

// Does not go on before the wire has room again: at most one message of each
// call is in memory.
void ReadCall::OnSent() {
  if (form_ != Form::kEncode) lease_.Release();
  Pump(Place::kWire);
}

void ReadCall::OnWake() {
  if (turn_.waiting()) Pump(Place::kWire);
}

Result<void> ReadCall::Parse(const rpc::Message& message) {
  ASSIGN_OR_RETURN(ReadRequest request, ParseReadRequest(message.pieces()));
  resource_ = std::move(request.resource_name);
  RETURN_IF_ERROR(CheckResourceHeader(call_.info(), resource_));
  ASSIGN_OR_RETURN(name_, ParseReadName(resource_));
  if (request.read_limit < 0) {
    return Error{kMalformed, "read_limit is negative"};
  }
  if (request.read_limit != 0 && name_.encoding != Encoding::kIdentity) {
    return Error{kMalformed, "a compressed read takes no read_limit"};
  }
  const int64_t size = name_.digest.size();
  if (request.read_offset < 0 || request.read_offset > size) {
    return Error{Code::kOutOfRange, "read_offset " +
                                        std::to_string(request.read_offset) +
                                        " is not within the blob's " +
                                        std::to_string(size) + " bytes"};
  }
  position_ = request.read_offset;
  limit_ = request.read_limit;
  end_ = limit_ == 0 ? size : position_ + std::min(limit_, size - position_);
  return {};
}

// ---- Opening.

void ReadCall::Open() {
  backend_ = parts_.backends.Known(name_.instance);
  if (backend_ != nullptr) {
    const Accept accept{.zstd = name_.encoding == Encoding::kZstd};
    auto reader = backend_->store.TryGet(name_.digest, position_, accept);
    if (reader) return Begin(*std::move(reader), Place::kWire);
  }
  call_.Offload([this] { OpenOnPool(); });
}

void ReadCall::OpenOnPool() {
  const Context& ctx = call_.context();
  if (backend_ == nullptr) {
    auto backend = parts_.backends.Open(ctx, name_.instance);
    if (!backend) return Fail(std::move(backend).error());
    backend_ = *backend;
  }
  const Accept accept{.zstd = name_.encoding == Encoding::kZstd};
  Begin(backend_->store.GetEncoded(ctx, name_.digest, position_, accept),
        Place::kPool);
}

void ReadCall::Begin(Result<std::unique_ptr<Reader>> reader, Place place) {
  if (!reader) return Fail(std::move(reader).error());
  reader_ = *std::move(reader);
  const bool stored_zstd = reader_->encoding() == Encoding::kZstd;
  if (name_.encoding == Encoding::kZstd) {
    form_ = stored_zstd ? Form::kStored : Form::kEncode;
  } else if (stored_zstd) {
    return Fail({Code::kInternal, "the store gave zstd unasked"});
  }
  if (form_ != Form::kStored && left() == 0) return call_.Finish({});
  Pump(place);
}

// ---- Filling a message, and sending it.

// What the next message takes. An encoding stream keeps what it needs, context
// and buffers, from its start to its end.
int64_t ReadCall::Need() const {
  constexpr auto kMessage = static_cast<int64_t>(kStreamMessageBytes);
  switch (form_) {
    case Form::kPlain: return std::min(left(), kMessage);
    case Form::kStored:
      return std::min(name_.digest.size() + static_cast<int64_t>(kEncodeSlack),
                      kMessage);
    case Form::kEncode:
      return std::min(left(), kEncoderBytes / 3) * 3 +
             static_cast<int64_t>(kEncodeSlack);
  }
  return kMessage;
}

bool ReadCall::Admit() {
  if (form_ == Form::kEncode && lease_.bytes() > 0) return true;
  switch (turn_.Ask(Need(), lease_)) {
    case Admission::Turn::Answer::kTaken: return true;
    case Admission::Turn::Answer::kWait: return false;
    case Admission::Turn::Answer::kRefused: break;
  }
  Fail({Code::kResourceExhausted,
        "the server has no memory free for this answer; try again"});
  return false;
}

void ReadCall::Pump(Place place) {
  if (Admit()) Fill(place);
}

// On the wire's thread it goes as far as nothing has to be waited for; the rest
// is then a task.
void ReadCall::Fill(Place place) {
  const bool encode = form_ == Form::kEncode;
  if (encode && place == Place::kWire && (encoder_ || left() > kTiny)) {
    return call_.Offload([this] { FillOnPool(); });
  }
  if (encode ? FillEncoded(place) : FillPlain(place)) Send();
}

void ReadCall::FillOnPool() { Fill(Place::kPool); }

// The next bytes of the reader, at most `most`; empty at its end. False if
// `place` does not allow it, and then a task will go on, or if it failed.
bool ReadCall::TakeNext(Place place, size_t most, Bytes& next) {
  if (place == Place::kWire) {
    auto here = reader_->TryNext(most);
    if (!here) {
      call_.Offload([this] { FillOnPool(); });
      return false;
    }
    if (!*here) return Fail(std::move(*here).error()), false;
    next = **std::move(here);
    return true;
  }
  auto there = reader_->Next(call_.context(), most);
  if (!there) return Fail(std::move(there).error()), false;
  next = *std::move(there);
  return true;
}

bool ReadCall::FillPlain(Place place) {
  const bool plain = form_ == Form::kPlain;
  while (!at_end_) {
    const auto room = static_cast<size_t>(lease_.bytes()) - filled_;
    if (plain && left() == 0) return ConfirmEnd(place);
    if (room == 0) return true;
    Bytes next;
    if (!TakeNext(place, room, next)) return false;
    at_end_ = next.empty();
    if (plain) position_ += static_cast<int64_t>(next.size());
    Append(std::move(next));
  }
  return !plain || left() == 0 || FailTruncated();
}

bool ReadCall::FailTruncated() {
  Fail({kTruncatedBlob, "blob " + name_.digest.ToString() +
                            " ends before its size: it is damaged"});
  return false;
}

// A reader has verified its blob only once it says that it is at its end. What
// was cut by the limit is not the blob's end.
bool ReadCall::ConfirmEnd(Place place) {
  if (end_ < name_.digest.size()) return at_end_ = true;
  Bytes next;
  if (!TakeNext(place, 1, next)) return false;
  if (next.empty()) return at_end_ = true;
  Fail({kTruncatedBlob, "blob " + name_.digest.ToString() +
                            " goes on beyond its size: it is damaged"});
  return false;
}

// Until something comes out: an encoder keeps what does not fill a block.
bool ReadCall::FillEncoded(Place place) {
  while (filled_ == 0) {
    if (input_.empty()) {
      const auto most =
          std::min<size_t>(kEncodeInput, static_cast<size_t>(left()));
      if (!TakeNext(place, most, input_)) return false;
      if (input_.empty()) return FailTruncated();
      position_ += static_cast<int64_t>(input_.size());
    }
    // Before the frame's end is sent: a damaged blob must not look whole.
    if (left() == 0 && !ConfirmEnd(place)) return false;
    if (!Encode(std::exchange(input_, {}), left() == 0)) return false;
  }
  return true;
}

bool ReadCall::Encode(const Bytes& input, bool last) {
  if (!encoder_) {
    // Nothing of it has gone in yet: all that is left, and this.
    const int64_t size = left() + static_cast<int64_t>(input.size());
    encoder_ =
        std::make_unique<codec::Encoder>(size, parts_.settings.zstd_level);
  }
  std::string text(input.size() + kEncodeSlack, '\0');
  size_t size = 0;
  for (auto rest = input.span();;) {
    if (size == text.size()) text.resize(size + kEncodeInput);
    const auto output = std::as_writable_bytes(std::span(text)).subspan(size);
    const auto step = encoder_->Encode(rest, output, last);
    if (!step) return Fail(step.error()), false;
    rest = rest.subspan(step->consumed);
    size += step->produced;
    if (last ? encoder_->done() : rest.empty()) break;
  }
  text.resize(size);
  if (last) encoder_.reset();
  if (size > 0) Append(Bytes::FromString(std::move(text)));
  return true;
}

void ReadCall::Append(Bytes piece) {
  if (piece.empty()) return;
  filled_ += piece.size();
  if (first_.empty()) {
    first_ = std::move(piece);
  } else {
    more_.push_back(std::move(piece));
  }
}

void ReadCall::Send() {
  if (filled_ == 0) return call_.Finish({});  // Its end came by itself.
  Bytes head = ReadResponseHead(filled_);
  if (at_end_) head = WithLease(std::move(head), std::move(lease_));
  rpc::Message message;
  message.Append(std::move(head));
  message.Append(std::exchange(first_, {}));
  for (Bytes& piece : std::exchange(more_, {}))
    message.Append(std::move(piece));
  filled_ = 0;
  if (at_end_) return call_.FinishWith(std::move(message));
  call_.Write(std::move(message));
}

void ReadCall::Fail(Error error) {
  call_.Finish(rpc::Status(std::move(error)));
}

}  // namespace casemate::reapi
