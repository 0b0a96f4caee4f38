#include "reapi/server/byte_stream_write.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "reapi/server/answers.h"
#include "reapi/server/byte_stream_query.h"
#include "reapi/wire/choices.h"

namespace casemate::reapi {
namespace {

using Clock = std::chrono::steady_clock;

// What a stream of level 3 takes to decode; more is rare.
constexpr int64_t kDecoderWindow = int64_t{1} << 20;
constexpr int64_t kDecoderContext = int64_t{128} << 10;

bool IsStopped(Code code) {
  return code == Code::kCancelled || code == Code::kDeadlineExceeded;
}

Bytes Copy(const Slices& slices) {
  if (slices.count() == 1) return Bytes::Copy(slices.piece(0).span());
  return slices.Joined();
}

Slices OneSlice(std::string text) {
  Slices slices;
  slices.Append(Bytes::FromString(std::move(text)));
  return slices;
}

}  // namespace

WriteCall::WriteCall(const StreamParts& parts, rpc::Call& call)
    : parts_(parts), call_(call), turn_(parts.admission, call) {
  Read();
}

WriteCall::~WriteCall() {
  if (small_) parts_.small_writes.Withdraw(*small_);
}

// ---- A message comes in.

void WriteCall::OnMessage(rpc::Message message) {
  reading_ = false;
  auto request = ParseWriteRequest(message.pieces());
  message = {};
  if (!request) return Fail(std::move(request).error());
  if (state_ == State::kDraining) return Drain(*request);
  if (finish_) {
    return Fail({kBadUpload, "a message follows the one with finish_write"});
  }
  if (auto accepted = Accept(*std::move(request)); !accepted) {
    return Fail(std::move(accepted).error());
  }
  Admit();
}

void WriteCall::OnHalfClose() {
  reading_ = false;
  half_closed_ = true;
  if (!begun_) return Fail({kMalformed, "a Write without a message"});
  if (state_ == State::kDraining) return Answer(count());
  if (!finish_) return Do(&WriteCall::EndIncomplete);
  if (state_ == State::kStored) Answer(outcome_);
}

Result<void> WriteCall::Accept(WriteRequest request) {
  if (!begun_) {
    RETURN_IF_ERROR(AcceptFirst(request));
  } else if (!request.resource_name.empty() &&
             request.resource_name != resource_) {
    return Error{kMalformed, "resource_name changes within an upload"};
  }
  RETURN_IF_ERROR(CheckOffset(request.write_offset));
  received_ += static_cast<int64_t>(request.data.size());
  RETURN_IF_ERROR(CheckLength());
  finish_ = request.finish_write;
  data_ = std::move(request.data);
  return {};
}

Result<void> WriteCall::AcceptFirst(WriteRequest& request) {
  resource_ = std::exchange(request.resource_name, {});
  RETURN_IF_ERROR(CheckResourceHeader(call_.info(), resource_));
  ASSIGN_OR_RETURN(name_, ParseWriteName(resource_));
  const int64_t most = parts_.settings.max_cas_blob_size;
  if (most > 0 && size() > most) {
    return Error{kTooLarge, "blob " + name_.digest.ToString() +
                                " is larger than this server takes, " +
                                std::to_string(most) + " bytes"};
  }
  first_offset_ = request.write_offset;
  if (first_offset_ < 0 || first_offset_ > size()) {
    return Error{kBadOffset, "write_offset " + std::to_string(first_offset_) +
                                 " is not within the blob"};
  }
  begun_ = true;
  return {};
}

Result<void> WriteCall::CheckOffset(int64_t write_offset) const {
  if (write_offset == count()) return {};
  return Error{kBadOffset, "write_offset " + std::to_string(write_offset) +
                               " where " + std::to_string(count()) +
                               " comes next"};
}

// Of a compressed upload the decoder knows: but frames that hold nothing may
// go on for ever.
Result<void> WriteCall::CheckLength() const {
  const int64_t most =
      zstd() ? size() + std::min(size(), INT64_MAX / 32) * 15 + kFrameSlack
             : size() - first_offset_;
  if (received_ <= most || most < 0) return {};
  return Error{kBadUpload, "more bytes came than blob " +
                               name_.digest.ToString() + " can have"};
}

void WriteCall::Drain(const WriteRequest& request) {
  received_ += static_cast<int64_t>(request.data.size());
  if (request.finish_write) return Answer(count());
  Read();
}

// A writer that decodes has a window while a frame is under way.
int64_t WriteCall::DecoderBytes() const {
  if (!zstd() || upload_begun_ || IsWholeSmall()) return 0;
  return std::min(size(), kDecoderWindow) + kDecoderContext;
}

// Nothing more is read before there is memory for what came.
void WriteCall::Admit() {
  state_ = State::kReceiving;
  const int64_t decoder = DecoderBytes();
  const auto data = static_cast<int64_t>(data_.size());
  switch (turn_.Ask(data + decoder, lease_)) {
    case Admission::Turn::Answer::kTaken:
      if (decoder > 0) decoder_lease_ = lease_.Split(decoder);
      return Proceed();
    case Admission::Turn::Answer::kWait: state_ = State::kAdmission; return;
    case Admission::Turn::Answer::kRefused: break;
  }
  LetGo({Code::kResourceExhausted,
         "the server has no memory free for this upload; try again"});
}

void WriteCall::Proceed() {
  if (finish_) Read();  // To hear whether anything follows.
  if (upload_begun_) {
    return CanGather() ? Gather() : Do(&WriteCall::GatherOrFeed);
  }
  backend_ = parts_.backends.Known(name_.instance);
  if (backend_ != nullptr && IsWholeSmall()) return Begin();
  Do(&WriteCall::Begin);
}

// ---- What is done with it.

// In place if the store never waits, else as a task of the pool.
void WriteCall::Do(Step step) {
  if (never_waits()) return (this->*step)();
  step_ = step;
  call_.Offload([this] { DoStep(); });
}

void WriteCall::DoStep() { (this->*step_)(); }

void WriteCall::Begin() {
  if (backend_ == nullptr) {
    auto backend = parts_.backends.Open(call_.context(), name_.instance);
    if (!backend) return Fail(std::move(backend).error());
    backend_ = *backend;
  }
  if (IsWholeSmall()) {
    // A store in memory keeps the bytes themselves: not the wire's buffer,
    // which may be much larger.
    return StoreSmall(never_waits() ? Copy(data_) : data_.Joined());
  }
  BeginUpload();
}

// Begins to wait for the blob before it looks for it, so as not to miss it.
void WriteCall::BeginUpload() {
  state_ = State::kReceiving;
  if (!arrival_) {
    arrival_ =
        parts_.arrivals.Expect(backend_->store, name_.digest, call_.waker());
  }
  const auto missing =
      backend_->store.FindMissing(call_.context(), {&name_.digest, 1});
  if (!missing) return Fail(missing.error());
  if (missing->empty()) return EndEarly();
  if (!Claim()) return;
  upload_begun_ = true;
  if (first_offset_ > 0 && !OpenWriter()) return;
  GatherOrFeed();
}

// An upload from offset 0 is always its own; another continues what was left,
// or waits until whoever still holds it lets go: that one's client has gone,
// and nobody has noticed yet.
bool WriteCall::Claim() {
  if (first_offset_ == 0) {
    claim_ = parts_.uploads.Begin(name_, call_.waker());
    return true;
  }
  auto continued = parts_.uploads.Continue(name_, first_offset_, call_.waker());
  claim_ = std::move(continued.claim);
  if (claim_) return true;
  const auto now = Clock::now();
  if (!continued.wait) {
    Fail({kBadOffset, "no upload is known that could go on at " +
                          std::to_string(first_offset_) + ": begin at 0"});
  } else if (until_ != Clock::time_point() && now >= until_) {
    LetGo({Code::kAborted, "another call does not let go of this upload"});
  } else {
    if (until_ == Clock::time_point()) {
      until_ = now + kPredecessorPatience;
      call_.WakeAfter(kPredecessorPatience);
    }
    state_ = State::kPredecessor;
  }
  return false;
}

void WriteCall::GatherOrFeed() {
  if (CanGather()) return Gather();
  if (!writer_ && !OpenWriter()) return;
  if (WriteGathered()) Feed();
}

// Only while there is memory for it without waiting.
bool WriteCall::CanGather() {
  if (writer_ || size() > kGatheredBytes) return false;
  const int64_t most = zstd() ? 2 * kGatheredBytes : size();
  const auto now = static_cast<int64_t>(gathered_.size() + data_.size());
  if (now > most) return false;
  if (gathered_lease_.bytes() > 0 || most == 0) return true;
  auto lease = parts_.admission.TryTake(most);
  if (lease) gathered_lease_ = *std::move(lease);
  return lease.has_value();
}

void WriteCall::Gather() {
  for (size_t i = 0; i < data_.count(); ++i) {
    gathered_ += data_.piece(i).view();
  }
  data_ = {};
  lease_.Release();
  if (!finish_) return Next();
  StoreSmall(Bytes::FromString(std::exchange(gathered_, {})));
}

Result<std::unique_ptr<Writer>> WriteCall::StartWrite() {
  return backend_->store.StartWrite(call_.context(), name_.digest, claim_->id(),
                                    name_.encoding);
}

bool WriteCall::OpenWriter() {
  auto writer = StartWrite();
  if (writer && first_offset_ == 0 && (*writer)->offset() > 0) {
    Discard(name_.digest, *std::move(writer));  // A new beginning: D-10.
    writer = StartWrite();
  }
  if (!writer) return FailWriting(std::move(writer).error()), false;
  writer_ = *std::move(writer);
  const int64_t offset = writer_->offset();
  claim_->SetCommitted(offset);
  if (offset == first_offset_) return true;
  LetGo({kBadOffset, "write_offset " + std::to_string(first_offset_) +
                         " where the upload goes on at " +
                         std::to_string(offset)});
  return false;
}

bool WriteCall::WriteOut(const Slices& data) {
  for (size_t i = 0; i < data.count(); ++i) {
    auto written = writer_->Write(call_.context(), data.piece(i).span());
    if (!written) return FailWriting(std::move(written).error()), false;
  }
  claim_->SetCommitted(writer_->offset());
  return true;
}

bool WriteCall::WriteGathered() {
  if (gathered_.empty()) return true;
  const bool written = WriteOut(OneSlice(std::exchange(gathered_, {})));
  gathered_lease_.Release();
  return written;
}

void WriteCall::Feed() {
  if (!WriteOut(std::exchange(data_, {}))) return;
  lease_.Release();
  if (finish_) return Commit();
  if (arrival_->arrived()) return EndEarly();
  Next();
}

void WriteCall::Commit() {
  auto committed = writer_->Commit(call_.context());
  if (!committed) return FailWriting(std::move(committed).error());
  arrival_.reset();
  writer_.reset();
  claim_.reset();
  parts_.arrivals.Tell(backend_->store, name_.digest);
  Stored(false);
}

// What came stays to be continued.
void WriteCall::EndIncomplete() {
  if (arrival_ && arrival_->arrived()) return EndEarly();
  if (!gathered_.empty() && (!OpenWriter() || !WriteGathered())) return;
  call_.FinishWith(
      rpc::Message(FormatWriteResponse(writer_ ? writer_->offset() : 0)));
  LeaveWriter();
}

bool WriteCall::IsWholeSmall() const {
  return finish_ && first_offset_ == 0 && size() <= kSmallBytes &&
         received_ == static_cast<int64_t>(data_.size()) &&
         received_ <= 2 * kSmallBytes;
}

void WriteCall::StoreSmall(Bytes data) {
  arrival_.reset();  // All is here: what it waits for is this very upload.
  data_ = {};
  const bool now = never_waits();
  small_ = std::make_shared<SmallWrite>(backend_->store, name_.digest,
                                        std::move(data), name_.encoding,
                                        now ? rpc::Waker() : call_.waker());
  if (!now) return parts_.small_writes.Start(small_);
  small_->StoreNow(call_.context(), parts_.arrivals);
  EndSmall();
}

void WriteCall::EndSmall() {
  const auto small = std::exchange(small_, {});
  claim_.reset();
  if (!small->result()) return Fail(small->result().error());
  Stored(*small->result());
}

// ---- How it ends.

void WriteCall::OnWake() {
  if (small_ && small_->done()) return EndSmall();
  if (arrival_ && arrival_->arrived()) return EndEarly();
  if (claim_ && claim_->superseded() && !finish_) {
    return LetGo({Code::kAborted, "another call continues this upload"});
  }
  if (state_ == State::kAdmission) return Admit();
  if (state_ == State::kPredecessor) return Do(&WriteCall::BeginUpload);
  if (state_ == State::kStored && Clock::now() >= until_) Answer(outcome_);
}

// Nobody waits for the blob's end any more; what it left may be continued.
void WriteCall::OnCancel() {
  turn_.Leave();
  arrival_.reset();
  ReleaseBytes();
  if (small_) parts_.small_writes.Withdraw(*small_);
  if (writer_) return Do(&WriteCall::LeaveWriter);
  claim_.reset();
}

// A client that sends something after the last message is told so,
// which needs its half-close; one that waits for the answer first is answered
// a little later.
void WriteCall::Stored(bool existed_before) {
  ReleaseBytes();
  const bool by_size =
      !zstd() || parts_.settings.committed_size == CommittedSize::kSize;
  const bool early =
      zstd() && existed_before && !parts_.settings.drain_compressed_duplicates;
  outcome_ = early ? -1 : by_size ? size() : count();
  state_ = State::kStored;
  if (half_closed_) return Answer(outcome_);
  until_ = Clock::now() + kAfterFinish;
  call_.WakeAfter(kAfterFinish);
}

void WriteCall::Answer(int64_t committed_size) {
  call_.FinishWith(rpc::Message(FormatWriteResponse(committed_size)));
}

void WriteCall::EndEarly() {
  arrival_.reset();
  turn_.Leave();
  ReleaseBytes();
  if (zstd() && parts_.settings.drain_compressed_duplicates) {
    if (finish_ || half_closed_) {
      Answer(count());
    } else {
      state_ = State::kDraining;
      if (!reading_) Read();
    }
  } else {
    Answer(zstd() ? -1 : size());
  }
  if (writer_) return Do(&WriteCall::DropWriter);
  claim_.reset();
}

void WriteCall::Fail(Error error) {
  call_.Finish(rpc::Status(std::move(error)));
  ReleaseBytes();
  if (writer_) return Do(&WriteCall::DropWriter);
  claim_.reset();
}

// The writer is spent; the blob may have come in another way meanwhile.
void WriteCall::FailWriting(Error error) {
  if (arrival_ && arrival_->arrived()) return EndEarly();
  call_.Finish(rpc::Status(UploadError(error)));
  ReleaseBytes();
  if (IsStopped(error.code)) return LeaveWriter();
  writer_.reset();
  claim_.reset();
}

// The upload has not failed: what it left may be continued.
void WriteCall::LetGo(Error error) {
  call_.Finish(rpc::Status(std::move(error)));
  ReleaseBytes();
  if (writer_) return Do(&WriteCall::LeaveWriter);
  claim_.reset();
}

void WriteCall::DropWriter() {
  Discard(name_.digest, std::move(writer_));
  claim_.reset();
}

void WriteCall::LeaveWriter() {
  if (writer_ && writer_->offset() > 0) claim_->Keep();
  writer_.reset();
  claim_.reset();
}

void WriteCall::ReleaseBytes() {
  data_ = {};
  gathered_ = {};
  lease_.Release();
  gathered_lease_.Release();
  decoder_lease_.Release();
}

void WriteCall::Next() {
  state_ = State::kReceiving;
  Read();
}

void WriteCall::Read() {
  reading_ = true;
  call_.Read();
}

}  // namespace casemate::reapi
