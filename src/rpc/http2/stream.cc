#include "rpc/http2/stream.h"

#include <algorithm>
#include <utility>

namespace casemate::rpc::http2 {
namespace {

Time Deadline(const Loop& loop, const RequestHead& head) {
  if (!head.timeout()) return Time::max();
  return loop.now() + *head.timeout();
}

}  // namespace

Stream::Stream(Shared& shared, Loop& loop, Connection& connection, int32_t id,
               RequestHead& head)
    : CallCore(shared.hub,
               {std::move(head.path()),
                shared.hub.observer() ? connection.peer_.address : "",
                std::move(head.metadata()), connection.peer_.subject},
               Deadline(loop, head)),
      shared_(shared),
      loop_(loop),
      id_(id),
      proto_suffix_(head.proto_suffix()),
      unknown_coding_(head.unknown_coding()),
      connection_(&connection),
      incoming_(head.coding(), shared.max_request_bytes),
      window_(shared.stream_window) {
  shared_.calls.fetch_add(1, std::memory_order_relaxed);
  connection_->Attach(*this);
  if (context().deadline != Time::max()) {
    loop_.timers().Set(*this, context().deadline);
  }
}

Stream::~Stream() { shared_.calls.fetch_sub(1, std::memory_order_relaxed); }

// Handlers, and the end of the call itself, happen within Arrived, HalfClosed,
// Sent, Cancel, Gone and Drain: they come last in what follows.

void Stream::Reject(const Status& status) {
  Finish(status);  // As a handler would.
  Begin(nullptr);
}

// ---- What comes.

void Stream::OnData(std::string_view bytes) {
  if (deaf_) return connection_->Release(id_, bytes.size());
  const Result<void> added = incoming_.Add(bytes);
  if (!added) return Fail(added.error());
  Deliver();
}

void Stream::OnEnd() {
  half_closed_ = true;
  if (deaf_) return;
  if (incoming_.cut()) {
    return Fail({Code::kInternal, "the request ends inside a message"});
  }
  Deliver();
}

void Stream::Deliver() {
  if (!reading_ || deaf_) return;
  if (incoming_.has_ready()) {
    auto next = incoming_.Next();
    if (!next) return Fail(next.error());
    reading_ = false;
    GiveCredit();
    return Arrived(*std::move(*next));
  }
  GiveCredit();
  if (!half_closed_) return;
  if (!incoming_.at_border()) {
    return Fail({Code::kInternal, "the request ends inside a message"});
  }
  reading_ = false;
  HalfClosed();
}

void Stream::Fail(Status why) {
  DropIncoming();
  Cancel(std::move(why));
}

void Stream::GiveCredit() {
  const size_t taken = incoming_.TakeCredit(reading_);
  if (taken == 0) return;
  connection_->Release(id_, taken);
  GrowWindow(taken);
}

// A stream whose handler keeps up gets a larger window once it has gone through
// two, as long as there is budget.
void Stream::GrowWindow(size_t taken) {
  taken_ += taken;
  if (taken_ < 2 * size_t{window_} || half_closed_) return;
  taken_ = 0;
  const uint32_t by = std::min(window_, shared_.largest_window - window_);
  if (by == 0 || incoming_.has_ready()) return;
  work::Lease lease = shared_.windows.TryAcquire(by);
  if (lease.amount() < by) return;
  grown_.amount() == 0 ? grown_ = std::move(lease)
                       : (grown_.Merge(std::move(lease)), grown_);
  window_ += by;
  connection_->GrowWindow(id_, window_, by);
}

void Stream::DropIncoming() {
  deaf_ = true;
  reading_ = false;
  connection_->Release(id_, incoming_.Abandon());
}

// ---- What goes.

ssize_t Stream::NextPart(size_t most, uint32_t& flags) {
  const size_t size = outgoing_.size();
  if (size == 0) {
    waiting_ = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (finishing_ && size <= most) {
    flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    SubmitTrailers();
  }
  return static_cast<ssize_t>(std::min(size, most));
}

void Stream::Emit(Output& output, size_t count) {
  outgoing_.Emit(output, count);
  if (!writing_ || outgoing_.size() > 0) return;
  noted_ = true;
  connection_->NoteSent(*this);
}

void Stream::TellSent() {
  noted_ = false;
  if (std::exchange(writing_, false)) Sent();
}

// ---- What the handler asks for, on the loop's thread or through a slot.

void Stream::WireRead() { loop_.InThread() ? ReadNow() : AskLoop(kRead); }

void Stream::WireWrite(Message message) {
  if (loop_.InThread()) return WriteNow(std::move(message));
  asked_write_ = std::move(message);
  AskLoop(kWrite);
}

void Stream::WireFinish(const Status& status, Message* last) {
  end_ = &status;
  has_last_ = last != nullptr;
  if (has_last_) asked_last_ = std::move(*last);
  loop_.InThread() ? FinishNow() : AskLoop(kFinish);
}

void Stream::WireAbort() { loop_.InThread() ? AbortNow() : AskLoop(kAbort); }

void Stream::Resume() { loop_.InThread() ? Drain() : AskLoop(kResume); }

void Stream::AskLoop(Ask what) {
  if (asked_.fetch_or(what, std::memory_order_acq_rel) == 0) loop_.Post(*this);
}

// Only whoever holds the call asks, and only Drain lets go of it: until then it
// is alive, whatever has become of its connection.
void Stream::RunPosted() {
  const uint32_t asked = asked_.exchange(0, std::memory_order_acq_rel);
  if ((asked & kRead) != 0) ReadNow();
  if ((asked & kWrite) != 0) WriteNow(std::exchange(asked_write_, {}));
  if ((asked & kFinish) != 0) FinishNow();
  if ((asked & kAbort) != 0) AbortNow();
  if ((asked & kResume) != 0) Drain();
}

void Stream::ReadNow() {
  if (connection_ == nullptr || deaf_) return;
  reading_ = true;
  Deliver();
}

void Stream::WriteNow(Message message) {
  if (connection_ == nullptr) return;
  outgoing_.Add(std::move(message));
  writing_ = true;
  Send();
}

void Stream::FinishNow() {
  finishing_ = true;
  writing_ = false;
  if (connection_ == nullptr) return Gone();
  loop_.timers().Clear(*this);
  DropIncoming();
  if (has_last_) outgoing_.Add(std::exchange(asked_last_, {}));
  Send();
}

// Trailers need no window: they do not wait for nghttp2 to ask for DATA.
void Stream::Send() {
  const bool first = !std::exchange(head_sent_, true);
  if (finishing_ && outgoing_.size() == 0) {
    if (!first) return SubmitTrailers();
    end_sent_ = true;
    connection_->SubmitTrailersOnly(*this);
  } else if (first) {
    connection_->SubmitHead(*this);
  } else if (std::exchange(waiting_, false)) {
    connection_->Continue(id_);
  }
}

void Stream::SubmitTrailers() {
  end_sent_ = true;
  connection_->SubmitTrailers(*this);
}

// The status still goes out if it would not follow half a message.
void Stream::AbortNow() {
  if (connection_ == nullptr) return;
  if (end_sent_ || !outgoing_.at_border()) {
    connection_->Reset(id_, NGHTTP2_CANCEL);
  } else {
    SubmitTrailers();
  }
  Detach();
  Gone();
}

// ---- The end.

void Stream::OnTime() {
  Cancel({Code::kDeadlineExceeded, "the call's deadline has passed"});
}

void Stream::OnClosed(uint32_t) {
  Detach();
  if (finishing_) return Gone();
  Cancel({Code::kCancelled, "the client has gone"});
}

// What is still held of it, is given back.
void Stream::Detach() {
  DropIncoming();
  outgoing_.Clear();
  loop_.timers().Clear(*this);
  if (grown_.amount() > 0) {
    connection_->ShrinkBy(static_cast<uint32_t>(grown_.amount()));
    grown_.Release();
  }
  std::exchange(connection_, nullptr)->Detach(*this);
}

}  // namespace casemate::rpc::http2
