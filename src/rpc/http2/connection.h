// Connection: HTTP/2 with one peer, as bytes in and pieces out.
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/call_hub.h"
#include "rpc/http2/allowance.h"
#include "rpc/http2/frame_scanner.h"
#include "rpc/http2/loop.h"
#include "rpc/http2/output.h"
#include "rpc/http2/request_head.h"
#include "rpc/http2/timers.h"
#include "rpc/service.h"
#include "work/budget.h"

namespace casemate::rpc::http2 {

class Stream;

// What all connections of a server share. Outlives them, and their calls.
struct Shared {
  CallHub& hub;
  std::function<Service*(std::string_view name)> find;  // Null: no such.
  work::Budget& windows;  // What windows grow by, beyond the first.
  int64_t max_request_bytes = int64_t{32} << 20;
  int max_streams = 4096;  // Of a connection.
  int64_t max_calls = 0;   // Of all connections; 0: any number.
  std::atomic<int64_t> calls{0};
  std::atomic<bool> refusing{false};  // All new calls: the server has drained.
  uint32_t header_list_bytes = 16 << 10;
  uint32_t stream_window = 256 << 10;  // At first.
  uint32_t largest_window = 4 << 20;
  uint32_t connection_window = 1 << 20;
  std::chrono::milliseconds hello_timeout{10'000};  // Preface and SETTINGS.
  std::chrono::milliseconds keepalive_time{60'000};
  std::chrono::milliseconds keepalive_timeout{20'000};
  std::chrono::milliseconds ping_interval{5'000};  // Of a silent peer.
  std::chrono::milliseconds drain_ping{1'000};     // Waited for its answer.
};

// Who carries the bytes. Called from within the connection's functions.
class Carrier {
 public:
  virtual void WantsToSend() = 0;  // There may be something to Gather.
  virtual void GiveUp() = 0;       // The peer is gone: send nothing more.

 protected:
  ~Carrier() = default;
};

// nghttp2 knows frames, HPACK and the states of streams; here is what gRPC
// makes of them, and what a peer is allowed. No sockets: tests and fuzzers feed
// it bytes. Belongs to its loop's thread.
class Connection final : private Timer {
 public:
  struct Peer {
    std::string address;  // As in CallInfo::peer,
    std::string subject;  // and CallInfo::subject.
  };

  Connection(Shared& shared, Loop& loop, Carrier& carrier, Peer peer);
  ~Connection();  // Ends all calls of the peer.

  // Bytes from the peer, any number. Handlers run within.
  void Receive(std::string_view bytes);

  // Adds what is to be sent to `output`, up to about `most` bytes in it. What
  // it leaves, the next call gives.
  void Gather(Output& output, size_t most);

  // Nothing more will be sent, and nothing that comes is of interest.
  bool finished() const;

  // No new streams; finished once those that are open have ended.
  void Drain();

  // It answers more than the peer takes: better to read nothing more now.
  bool backlogged() const {
    return nghttp2_session_get_outbound_queue_size(session_) > 10'000;
  }

  int64_t open_streams() const { return open_streams_; }

 private:
  friend class Stream;
  friend struct Callbacks;

  // What Stream asks for.
  void SubmitHead(const Stream& stream);
  void SubmitTrailers(const Stream& stream);
  void SubmitTrailersOnly(const Stream& stream);
  void Continue(int32_t stream_id);  // It has data again.
  void Reset(int32_t stream_id, uint32_t code);
  void Release(int32_t stream_id, size_t bytes);  // Credit for them.
  void GrowWindow(int32_t stream_id, uint32_t size, uint32_t by);
  void ShrinkBy(uint32_t bytes);  // The connection's own window.
  void NoteSent(Stream& stream) { sent_.push_back(&stream); }
  void Attach(Stream& stream);
  void Detach(Stream& stream);

  // What nghttp2 tells.
  void OnFrameHead(const FrameHead& head);
  void OnHeaders(bool request);
  void OnHeader(std::string_view name, std::string_view value);
  void OnData(int32_t stream_id, std::string_view bytes);
  void OnFrame(const nghttp2_frame& frame);
  void OnFrameSent(const nghttp2_frame& frame);
  void OnStreamClosed(int32_t stream_id, uint32_t code);
  void OnPing(const nghttp2_ping& ping, bool answer);

  void OnInvalidFrame(const nghttp2_frame& frame);
  void NoteClosedEarly(int32_t stream_id);
  void CheckClosed(const FrameHead& head);
  bool Feed(std::string_view bytes);
  void StartStream(int32_t stream_id);
  bool TakesNoCall() const;
  void AnswerIfPlain(int32_t stream_id, size_t bytes, bool ended);
  void AnswerPlainly(int32_t stream_id, int status);
  void Spend(Allowance& allowance, std::string_view on);
  void Expel(uint32_t code, std::string_view why);
  void Close();  // Announces the true last stream.
  void TellSent();
  Stream* Find(int32_t stream_id) const;
  bool full() const { return output_->size() >= most_; }

  // Time.
  void OnTime() override;
  void SetTimer();
  void CheckHello();
  void CheckKeepalive();

  Shared& shared_;
  Loop& loop_;
  Carrier& carrier_;
  const Peer peer_;
  nghttp2_session* session_ = nullptr;
  Output* output_ = nullptr;  // While it gathers,
  size_t most_ = 0;           // up to so much.
  FrameScanner scanner_;
  std::optional<RequestHead> head_;  // Whose fields are coming.
  size_t list_size_ = 0;             // Of those that are coming.

  // Requests that are no calls, whose end is awaited.
  struct Plain {
    int32_t stream_id;
    int status;
    size_t bytes = 0;
  };
  std::vector<Plain> plain_;
  // Streams that we have closed before the peer had: the latest ones, since it
  // may not know yet.
  std::array<int32_t, 16> closed_early_{};
  size_t closes_ = 0;
  int32_t reset_by_peer_ = 0;  // The last one.
  int32_t highest_ = -1;       // Of the streams that the peer has opened,
  int32_t skipped_from_ = 0, skipped_to_ = 0;  // and those last left out.

  Stream* streams_ = nullptr;  // A list.
  int64_t open_streams_ = 0;
  std::vector<Stream*> sent_;  // To be told.
  uint32_t window_;

  bool expelled_ = false;
  bool farewell_sent_ = false;  // The GOAWAY of that.
  bool gone_ = false;           // Given up.
  bool settings_came_ = false, settings_acknowledged_ = false;
  Time since_;
  Time heard_;

  std::optional<Time> asked_;  // When a PING went out that has no answer.
  std::optional<Time> last_ping_;
  bool silent_ = true;  // Nothing but pings since the last one.
  int strikes_ = 0;
  Allowance idle_frames_{2000, 200};
  Allowance resets_{500, 50};

  enum class Draining { kNo, kAnnounced, kFinal };
  Draining draining_ = Draining::kNo;
  std::optional<Time> announced_;
};

}  // namespace casemate::rpc::http2
