#include "rpc/http2/connection.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "rpc/http2/callbacks.h"
#include "rpc/http2/stream.h"

namespace casemate::rpc::http2 {
namespace {

// Of a request that is no call, before it is answered although it goes on: some
// clients do not look at an answer that comes so early.
constexpr size_t kPatience = size_t{32} << 20;

// The payloads of our own PINGs.
constexpr std::array<uint8_t, 8> kKeepalive = {'k', 'e', 'e', 'p',
                                               ' ', 'u', 'p', '?'};
constexpr std::array<uint8_t, 8> kDraining = {'d', 'r', 'a', 'i',
                                              'n', 'i', 'n', 'g'};

}  // namespace

Connection::Connection(Shared& shared, Loop& loop, Carrier& carrier, Peer peer)
    : shared_(shared),
      loop_(loop),
      carrier_(carrier),
      peer_(std::move(peer)),
      session_(NewSession(*this)),
      window_(shared.connection_window),
      since_(loop.now()),
      heard_(loop.now()) {
  const std::array<nghttp2_settings_entry, 4> settings = {{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
       static_cast<uint32_t>(shared_.max_streams)},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, shared_.stream_window},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 16 << 10},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, shared_.header_list_bytes},
  }};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(),
                          settings.size());
  GrowWindow(0, 0, 0);
  SetTimer();
  loop_.counters().connections.Add();
}

Connection::~Connection() {
  gone_ = true;
  while (streams_ != nullptr) streams_->OnClosed(NGHTTP2_NO_ERROR);
  loop_.timers().Clear(*this);
  nghttp2_session_del(session_);
  loop_.counters().connections_ended.Add();
}

void Connection::Receive(std::string_view bytes) {
  if (expelled_ || gone_) return;
  heard_ = loop_.now();
  asked_.reset();
  loop_.counters().bytes_in.Add(static_cast<int64_t>(bytes.size()));
  carrier_.WantsToSend();
  while (!bytes.empty() && !expelled_) {
    const size_t part =
        scanner_.Scan(bytes, NGHTTP2_RST_STREAM,
                      [this](const FrameHead& head) { OnFrameHead(head); });
    if (!Feed(bytes.substr(0, part))) {
      // What is no HTTP/2 at all gets no answer in it.
      gone_ = true;
      return carrier_.GiveUp();
    }
    bytes.remove_prefix(part);
  }
}

bool Connection::Feed(std::string_view bytes) {
  return nghttp2_session_mem_recv(
             session_, reinterpret_cast<const uint8_t*>(bytes.data()),
             bytes.size()) >= 0;
}

void Connection::Gather(Output& output, size_t most) {
  output_ = &output;
  most_ = most;
  while (!full() && !gone_ && !farewell_sent_) {
    const uint8_t* bytes;
    const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0) {
      gone_ = true;
      return carrier_.GiveUp();
    }
    if (size > 0) {
      output.Add(
          {reinterpret_cast<const char*>(bytes), static_cast<size_t>(size)});
    } else if (!full() && !sent_.empty()) {
      TellSent();
    } else {
      break;
    }
  }
}

bool Connection::finished() const {
  if (gone_ || farewell_sent_) return true;
  return nghttp2_session_want_read(session_) == 0 &&
         nghttp2_session_want_write(session_) == 0;
}

// They may write at once, or be gone.
void Connection::TellSent() {
  while (!sent_.empty()) {
    Stream& stream = *sent_.back();
    sent_.pop_back();
    stream.TellSent();
  }
}

// ---- What comes.

void Connection::OnFrameHead(const FrameHead& head) {
  switch (head.type) {
    case NGHTTP2_DATA:
      if (head.length == 0 && (head.flags & NGHTTP2_FLAG_END_STREAM) == 0) {
        Spend(idle_frames_, "empty DATA");
      }
      [[fallthrough]];
    case NGHTTP2_HEADERS:
      silent_ = false;
      CheckClosed(head);
      break;
    case NGHTTP2_RST_STREAM:
      loop_.counters().resets_in.Add();
      Spend(resets_, "streams opened and reset");
      break;
    default: Spend(idle_frames_, "frames of no use");
  }
}

// Among them streams that nghttp2 has refused without opening them.
void Connection::OnInvalidFrame(const nghttp2_frame& frame) {
  if (frame.hd.type != NGHTTP2_HEADERS) return;
  loop_.counters().streams_refused.Add();
  Spend(idle_frames_, "requests that are none");
  NoteClosedEarly(frame.hd.stream_id);
}

void Connection::NoteClosedEarly(int32_t stream_id) {
  closed_early_[closes_++ % closed_early_.size()] = stream_id;
}

// nghttp2 ignores what comes on streams that it has forgotten. To go on sending
// is only right on a stream that we have closed and the peer has not.
void Connection::CheckClosed(const FrameHead& head) {
  const int32_t id = head.stream_id;
  if (id > highest_) {
    if (id > highest_ + 2) {
      skipped_from_ = highest_ + 2;
      skipped_to_ = id - 2;
    }
    highest_ = id;
    return;
  }
  if (id >= skipped_from_ && id <= skipped_to_) {
    return Expel(NGHTTP2_PROTOCOL_ERROR, "a stream that was left out");
  }
  if (id == 0 || id > nghttp2_session_get_last_proc_stream_id(session_) ||
      nghttp2_session_find_stream(session_, id) != nullptr) {
    return;
  }
  const int32_t oldest =
      *std::min_element(closed_early_.begin(), closed_early_.end());
  const bool may_not_know =
      std::ranges::find(closed_early_, id) != closed_early_.end() ||
      (oldest > 0 && id < oldest);
  if (!may_not_know) Expel(NGHTTP2_STREAM_CLOSED, "a frame on a closed stream");
}

void Connection::OnHeaders(bool request) {
  list_size_ = 0;
  head_.reset();
  if (request && !expelled_) head_.emplace();
}

void Connection::OnHeader(std::string_view name, std::string_view value) {
  list_size_ += name.size() + value.size() + 32;
  if (list_size_ > shared_.header_list_bytes) {
    head_.reset();
    return Expel(NGHTTP2_ENHANCE_YOUR_CALM, "header list too large");
  }
  if (head_) head_->Add(name, value);
}

void Connection::OnData(int32_t stream_id, std::string_view bytes) {
  if (Stream* const stream = Find(stream_id)) return stream->OnData(bytes);
  Release(stream_id, bytes.size());
  AnswerIfPlain(stream_id, bytes.size(), false);
}

// A request may still turn out to be malformed: its end is awaited.
void Connection::AnswerIfPlain(int32_t stream_id, size_t bytes, bool ended) {
  for (Plain& each : plain_) {
    if (each.stream_id != stream_id) continue;
    each.bytes += bytes;
    if (!ended && each.bytes < kPatience) return;
    const int status = each.status;
    std::erase_if(plain_, [&](auto& p) { return p.stream_id == stream_id; });
    return AnswerPlainly(stream_id, status);
  }
}

void Connection::OnFrame(const nghttp2_frame& frame) {
  if (expelled_) return;
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
      if (head_) StartStream(frame.hd.stream_id);
      [[fallthrough]];
    case NGHTTP2_DATA:
      if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) break;
      if (Stream* const stream = Find(frame.hd.stream_id)) {
        stream->OnEnd();
      } else {
        AnswerIfPlain(frame.hd.stream_id, 0, true);
      }
      break;
    case NGHTTP2_RST_STREAM: reset_by_peer_ = frame.hd.stream_id; break;
    case NGHTTP2_SETTINGS:
      ((frame.hd.flags & NGHTTP2_FLAG_ACK) != 0 ? settings_acknowledged_
                                                : settings_came_) = true;
      break;
    case NGHTTP2_PING:
      OnPing(frame.ping, (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0);
      break;
    default: break;
  }
}

void Connection::StartStream(int32_t stream_id) {
  RequestHead head = std::move(*head_);
  head_.reset();
  if (const int status = head.http_status(); status != 0) {
    return plain_.push_back({stream_id, status});
  }
  if (TakesNoCall()) {
    loop_.counters().streams_refused.Add();
    return Reset(stream_id, NGHTTP2_REFUSED_STREAM);
  }
  auto* const stream = new Stream(shared_, loop_, *this, stream_id, head);
  if (!head.status().ok()) return stream->Reject(head.status());
  const std::string_view path = stream->info().method;
  const size_t slash = path.rfind('/');
  const bool named = path.starts_with('/') && slash > 1;
  stream->Begin(named ? shared_.find(path.substr(1, slash - 1)) : nullptr);
}

bool Connection::TakesNoCall() const {
  const bool full =
      shared_.max_calls > 0 && shared_.calls.load() >= shared_.max_calls;
  return full || shared_.refusing.load(std::memory_order_relaxed);
}

void Connection::OnPing(const nghttp2_ping& ping, bool answer) {
  if (answer) {
    const bool drained = std::ranges::equal(ping.opaque_data, kDraining);
    if (drained && draining_ == Draining::kAnnounced) Close();
    return;
  }
  const bool hasty =
      last_ping_ && loop_.now() - *last_ping_ < shared_.ping_interval;
  last_ping_ = loop_.now();
  if (!std::exchange(silent_, true)) strikes_ = 0;
  if (hasty && ++strikes_ >= 3) {
    Expel(NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings");
  }
}

void Connection::OnStreamClosed(int32_t stream_id, uint32_t code) {
  if (code == NGHTTP2_NO_ERROR) {
    resets_.Earn(1);
    idle_frames_.Earn(4);
  }
  if (stream_id != reset_by_peer_ &&
      nghttp2_session_get_stream_remote_close(session_, stream_id) == 0) {
    NoteClosedEarly(stream_id);
  }
  std::erase_if(plain_,
                [&](auto& each) { return each.stream_id == stream_id; });
  if (Stream* const stream = Find(stream_id)) stream->OnClosed(code);
}

Stream* Connection::Find(int32_t stream_id) const {
  return static_cast<Stream*>(
      nghttp2_session_get_stream_user_data(session_, stream_id));
}

void Connection::Attach(Stream& stream) {
  nghttp2_session_set_stream_user_data(session_, stream.id_, &stream);
  stream.next_ = streams_;
  if (streams_ != nullptr) streams_->previous_ = &stream;
  streams_ = &stream;
  ++open_streams_;
  loop_.counters().streams.Add();
}

void Connection::Detach(Stream& stream) {
  nghttp2_session_set_stream_user_data(session_, stream.id_, nullptr);
  (stream.previous_ != nullptr ? stream.previous_->next_ : streams_) =
      stream.next_;
  if (stream.next_ != nullptr) stream.next_->previous_ = stream.previous_;
  if (stream.noted_) std::erase(sent_, &stream);
  --open_streams_;
  loop_.counters().streams_ended.Add();
}

// ---- What peers may not do.

void Connection::Spend(Allowance& allowance, std::string_view on) {
  if (!allowance.Take(loop_.now())) Expel(NGHTTP2_ENHANCE_YOUR_CALM, on);
}

// The calls end when the carrier, after the last bytes, ends the connection.
void Connection::Expel(uint32_t code, std::string_view why) {
  if (std::exchange(expelled_, true)) return;
  loop_.counters().peers_expelled.Add();
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), code,
                        reinterpret_cast<const uint8_t*>(why.data()),
                        why.size());
  carrier_.WantsToSend();
}

// ---- The end.

void Connection::Drain() {
  if (draining_ != Draining::kNo) return;
  draining_ = Draining::kAnnounced;
  announced_ = loop_.now();
  nghttp2_submit_shutdown_notice(session_);
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, kDraining.data());
  SetTimer();
  carrier_.WantsToSend();
}

void Connection::Close() {
  draining_ = Draining::kFinal;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
  carrier_.WantsToSend();
}

// ---- Time.

void Connection::OnTime() {
  CheckHello();
  CheckKeepalive();
  if (draining_ == Draining::kAnnounced &&
      loop_.now() >= *announced_ + shared_.drain_ping) {
    Close();
  }
  SetTimer();
}

void Connection::SetTimer() {
  if (gone_ || expelled_) return;
  Time due = asked_ ? *asked_ + shared_.keepalive_timeout
                    : heard_ + shared_.keepalive_time;
  if (!settings_came_ || !settings_acknowledged_) {
    due = std::min(due, since_ + shared_.hello_timeout);
  }
  if (draining_ == Draining::kAnnounced) {
    due = std::min(due, *announced_ + shared_.drain_ping);
  }
  loop_.timers().Set(*this, due);
}

void Connection::CheckHello() {
  if (settings_came_ && settings_acknowledged_) return;
  if (loop_.now() < since_ + shared_.hello_timeout) return;
  if (settings_came_) {
    return Expel(NGHTTP2_SETTINGS_TIMEOUT, "SETTINGS not acknowledged");
  }
  gone_ = true;
  carrier_.GiveUp();
}

void Connection::CheckKeepalive() {
  if (gone_) return;
  if (asked_ && loop_.now() >= *asked_ + shared_.keepalive_timeout) {
    gone_ = true;
    return carrier_.GiveUp();
  }
  if (asked_ || loop_.now() < heard_ + shared_.keepalive_time) return;
  asked_ = loop_.now();
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, kKeepalive.data());
  carrier_.WantsToSend();
}

}  // namespace casemate::rpc::http2
