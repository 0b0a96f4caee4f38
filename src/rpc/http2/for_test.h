// A client that does as the test says, a service with a method for each
// behaviour, and a connection between them in memory.
#pragma once

#include <nghttp2/nghttp2.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "rpc/call_hub.h"
#include "rpc/http2/connection.h"
#include "rpc/http2/loop.h"
#include "rpc/server.h"
#include "rpc/service.h"
#include "work/budget.h"
#include "work/pool.h"

namespace casemate::rpc::http2 {

// A message with its prefix; `flag` 1 says that it is compressed.
std::string Framed(std::string_view message, char flag = 0);

// The messages that a body consists of; what is left over comes last.
std::vector<std::string> Unframed(std::string_view body);

// A clock that stands still unless it is moved; from any thread.
class StillClock : public base::Clock {
 public:
  Time Now() const override { return Time(now_.load()); }
  std::chrono::system_clock::time_point WallNow() const override { return {}; }
  void Move(std::chrono::milliseconds by) {
    now_ = now_.load() + std::chrono::steady_clock::duration(by);
  }

 private:
  std::atomic<std::chrono::steady_clock::duration> now_{std::chrono::hours(1)};
};

// What came of a request.
struct Outcome {
  Metadata headers, trailers;  // Trailers-only: all are headers.
  std::string body;
  std::optional<uint32_t> closed;  // The code.
  bool trailers_only() const { return trailers.empty(); }

  // Of a field, wherever it came; "" if it did not.
  std::string Field(std::string_view name) const;
  // grpc-status as a code; -1 if there is none.
  int status() const;
};

// The client's end of a connection, without a socket.
class Client {
 public:
  struct Options {
    bool settings = true;  // Says hello at once.
    std::optional<uint32_t> window = {};
    bool auto_window = true;
  };

  Client();
  explicit Client(const Options& options);
  ~Client();

  // POST with the usual fields, unless `fields` has them itself.
  int32_t Request(const std::string& path, Metadata fields = {});
  // Bytes of the body; `last` half-closes.
  void Send(int32_t stream, std::string bytes, bool last = false);
  void HalfClose(int32_t stream) { Send(stream, "", true); }
  void Reset(int32_t stream, uint32_t code = NGHTTP2_CANCEL);
  // All at once: one message, half-closed.
  int32_t Call(const std::string& path, std::string_view message,
               Metadata fields = {});

  std::string Take();  // What it has to say.
  void Receive(std::string_view bytes);

  nghttp2_session* session() { return session_; }
  Outcome& outcome(int32_t stream) { return outcomes_[stream]; }
  // Of the GOAWAY that came last.
  std::optional<uint32_t> goaway;
  std::string goaway_text;
  int32_t goaway_last = -1;
  int goaways = 0;
  int pings = 0;  // From the server, not answers.
  int ping_answers = 0;
  bool broken = false;                 // What came is no HTTP/2.
  std::vector<int> data_order;         // Streams, in the order of their DATA.
  std::map<int32_t, int64_t> updates;  // WINDOW_UPDATE, by stream.
  std::map<int, uint32_t> settings;    // The server's.

 private:
  friend struct ClientCallbacks;
  struct Body {
    std::string bytes;
    bool last = false;
  };

  nghttp2_session* session_;
  std::map<int32_t, Outcome> outcomes_;
  std::map<int32_t, Body> bodies_;
};

// Methods of "test.Service":
//   Echo    each message back; ends with the client
//   Sum     the number of bytes that came, once the client has half-closed
//   Give    "COUNT SIZE": so many messages of so many bytes
//   Refuse  ABORTED at once, with details
//   Early   OK after the first message
//   Silent  nothing at all
//   Hold    asks for a message only when told to (`read_now`)
//   One     unary, on the pool: the request back
//   Block   unary, on the pool: until the client has gone
//   Meta    every "x-" field back, in headers and trailers
class TestService : public Service {
 public:
  std::string_view name() const override { return "test.Service"; }
  std::unique_ptr<Handler> Start(std::string_view method, Call& call) override;

  std::atomic<int> cancelled{0};
  std::atomic<int> handlers{0};      // That are alive,
  std::atomic<int> started{0};       // and that ever were.
  std::atomic<int> blocked{0};       // In Block.
  std::atomic<int64_t> received{0};  // Bytes that handlers got.
  std::vector<Call*> held;           // In Hold; of one loop.
  CallInfo last_info() const EXCLUDES(mutex_);

 private:
  mutable base::Mutex mutex_;
  CallInfo last_info_ GUARDED_BY(mutex_);
};

class ManualLoop : public Loop {
 public:
  using Loop::Loop;
  void TurnOnce() EXCLUDES(wake_mutex_);
  // Whether it was woken within 20 s since the last time.
  bool AwaitWake() EXCLUDES(wake_mutex_);

 private:
  void Wake() override EXCLUDES(wake_mutex_);

  base::Mutex wake_mutex_;
  base::CondVar woken_;
  bool awake_ GUARDED_BY(wake_mutex_) = false;
};

// Keeps what calls came to.
class Records : public CallObserver {
 public:
  void OnEnd(const CallRecord& record) override;
  int count() const { return count_; }
  std::vector<Status> statuses;  // Of one thread's calls.

 private:
  std::atomic<int> count_{0};
};

// A server's connection and the client on it.
class Scene : private Carrier, private Flushed {
 public:
  Scene();
  explicit Scene(const std::function<void(Shared&)>& adjust,
                 const Client::Options& client = {});
  ~Scene();

  // Moves bytes both ways until none are left.
  void Exchange();
  // Until that holds; waits for the pool, up to 20 s.
  bool Until(const std::function<bool()>& condition);
  // To the server: bytes that the client knows nothing of.
  void SendRaw(std::string_view bytes);
  // Time passes, a tenth of a second at a time or less.
  void Pass(std::chrono::milliseconds time);
  Flushed& flushed() { return *this; }
  // The peer vanishes.
  void Cut();

  // The usual: one unary-like call to its end.
  Outcome& Call(const std::string& method, std::string_view message,
                Metadata fields = {});

  StillClock clock;
  work::Pool pool{"test", 2};
  Records records;
  CallHub hub{pool,
              {.idle_limit = std::chrono::seconds(60),
               .observer = &records,
               .clock = &clock,
               .thread = false}};
  TestService service;
  work::Budget windows{int64_t{64} << 20};
  Shared shared;
  ManualLoop loop{clock};
  Client client;
  std::optional<Connection> connection;
  bool given_up = false;
  bool blocked = false;  // The client reads nothing.
  size_t gather = 1 << 20;
  std::string last_output;  // Of one exchange, for a closer look.

 private:
  void WantsToSend() override { loop.Touch(*this); }
  void GiveUp() override { given_up = true; }
  void Flush() override;

  std::string to_client_;
};

}  // namespace casemate::rpc::http2
