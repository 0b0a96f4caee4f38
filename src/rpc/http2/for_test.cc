#include "rpc/http2/for_test.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "rpc/simple.h"

namespace casemate::rpc::http2 {

std::string Framed(std::string_view message, char flag) {
  const size_t size = message.size();
  std::string framed = {flag, static_cast<char>(size >> 24),
                        static_cast<char>(size >> 16),
                        static_cast<char>(size >> 8), static_cast<char>(size)};
  return framed.append(message);
}

std::vector<std::string> Unframed(std::string_view body) {
  std::vector<std::string> messages;
  while (body.size() >= 5) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(body[i]); };
    const size_t size = static_cast<size_t>(byte(1)) << 24 |
                        static_cast<size_t>(byte(2)) << 16 |
                        static_cast<size_t>(byte(3)) << 8 | byte(4);
    if (body.size() < 5 + size) break;
    messages.emplace_back(body.substr(5, size));
    body.remove_prefix(5 + size);
  }
  if (!body.empty()) messages.emplace_back(body);
  return messages;
}

// ---- The client.

std::string Outcome::Field(std::string_view name) const {
  for (const Metadata* list : {&trailers, &headers}) {
    for (const auto& [key, value] : *list) {
      if (key == name) return value;
    }
  }
  return "";
}

int Outcome::status() const {
  const std::string text = Field("grpc-status");
  return text.empty() ? -1 : std::stoi(text);
}

struct ClientCallbacks {
  static Client& Of(void* user) { return *static_cast<Client*>(user); }

  static int Header(nghttp2_session*, const nghttp2_frame* frame,
                    const uint8_t* name, size_t name_size, const uint8_t* value,
                    size_t value_size, uint8_t, void* user) {
    Outcome& outcome = Of(user).outcomes_[frame->hd.stream_id];
    Metadata& list = frame->headers.cat == NGHTTP2_HCAT_HEADERS
                         ? outcome.trailers
                         : outcome.headers;
    list.emplace_back(
        std::string(reinterpret_cast<const char*>(name), name_size),
        std::string(reinterpret_cast<const char*>(value), value_size));
    return 0;
  }

  static int Data(nghttp2_session*, uint8_t, int32_t stream,
                  const uint8_t* bytes, size_t size, void* user) {
    Of(user).outcomes_[stream].body.append(reinterpret_cast<const char*>(bytes),
                                           size);
    Of(user).data_order.push_back(stream);
    return 0;
  }

  static int Closed(nghttp2_session*, int32_t stream, uint32_t code,
                    void* user) {
    Of(user).outcomes_[stream].closed = code;
    return 0;
  }

  static int Frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Client& client = Of(user);
    switch (frame->hd.type) {
      case NGHTTP2_GOAWAY:
        ++client.goaways;
        client.goaway = frame->goaway.error_code;
        client.goaway_last = frame->goaway.last_stream_id;
        client.goaway_text.assign(
            reinterpret_cast<const char*>(frame->goaway.opaque_data),
            frame->goaway.opaque_data_len);
        break;
      case NGHTTP2_PING:
        ++((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 ? client.ping_answers
                                                     : client.pings);
        break;
      case NGHTTP2_WINDOW_UPDATE:
        client.updates[frame->hd.stream_id] +=
            frame->window_update.window_size_increment;
        break;
      case NGHTTP2_SETTINGS:
        for (size_t i = 0; i < frame->settings.niv; ++i) {
          client.settings[frame->settings.iv[i].settings_id] =
              frame->settings.iv[i].value;
        }
        break;
      default: break;
    }
    return 0;
  }

  static ssize_t Body(nghttp2_session*, int32_t stream, uint8_t* place,
                      size_t most, uint32_t* flags, nghttp2_data_source*,
                      void* user) {
    Client::Body& body = Of(user).bodies_[stream];
    const size_t part = std::min(most, body.bytes.size());
    std::memcpy(place, body.bytes.data(), part);
    body.bytes.erase(0, part);
    if (body.bytes.empty() && body.last) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (part == 0 && !body.last) return NGHTTP2_ERR_DEFERRED;
    return static_cast<ssize_t>(part);
  }
};

Client::Client() : Client(Options{}) {}

Client::Client(const Options& options) {
  nghttp2_session_callbacks* callbacks;
  CASEMATE_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
  nghttp2_session_callbacks_set_on_header_callback(callbacks,
                                                   ClientCallbacks::Header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, ClientCallbacks::Data);
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, ClientCallbacks::Closed);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks,
                                                       ClientCallbacks::Frame);
  nghttp2_option* option;
  CASEMATE_CHECK(nghttp2_option_new(&option) == 0);
  nghttp2_option_set_peer_max_concurrent_streams(option, 1'000'000);
  nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option, 1);
  if (!options.auto_window) nghttp2_option_set_no_auto_window_update(option, 1);
  CASEMATE_CHECK(
      nghttp2_session_client_new2(&session_, callbacks, this, option) == 0);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  if (!options.settings) return;
  const uint32_t window = options.window.value_or(65'535);
  const nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                                        window};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &entry, 1);
}

Client::~Client() { nghttp2_session_del(session_); }

int32_t Client::Request(const std::string& path, Metadata fields) {
  Metadata all = {{":method", "POST"}, {":scheme", "http"},
                  {":path", path},     {":authority", "test"},
                  {"te", "trailers"},  {"content-type", "application/grpc"}};
  for (const auto& each : fields) {
    const auto found = std::find_if(all.begin(), all.end(), [&](auto& field) {
      return field.first == each.first && each.first != "x-repeat";
    });
    if (found != all.end()) {
      found->second = each.second;
    } else {
      all.push_back(each);
    }
  }
  std::vector<nghttp2_nv> list;
  for (auto& [name, value] : all) {
    list.push_back({reinterpret_cast<uint8_t*>(name.data()),
                    reinterpret_cast<uint8_t*>(value.data()), name.size(),
                    value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  nghttp2_data_provider provider{};
  provider.read_callback = ClientCallbacks::Body;
  const int32_t stream = nghttp2_submit_request(
      session_, nullptr, list.data(), list.size(), &provider, nullptr);
  CASEMATE_CHECK(stream > 0);
  return stream;
}

void Client::Send(int32_t stream, std::string bytes, bool last) {
  bodies_[stream].bytes += bytes;
  bodies_[stream].last |= last;
  nghttp2_session_resume_data(session_, stream);
}

void Client::Reset(int32_t stream, uint32_t code) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, code);
}

int32_t Client::Call(const std::string& path, std::string_view message,
                     Metadata fields) {
  const int32_t stream = Request(path, std::move(fields));
  Send(stream, Framed(message), true);
  return stream;
}

std::string Client::Take() {
  std::string all;
  const uint8_t* bytes;
  for (;;) {
    const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size <= 0) return all;
    all.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  }
}

void Client::Receive(std::string_view bytes) {
  const ssize_t taken = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  broken |= taken < 0;
}

// ---- The service.

namespace {

class TestHandler : public Handler {
 public:
  TestHandler(TestService& service, Call& call)
      : service_(service), call_(call) {
    ++service_.handlers;
  }
  ~TestHandler() override { --service_.handlers; }
  void OnMessage(Message message) override { Note(message); }
  void OnCancel() override { ++service_.cancelled; }

 protected:
  void Note(const Message& message) {
    service_.received += static_cast<int64_t>(message.size());
  }

  TestService& service_;
  Call& call_;
};

class EchoHandler : public TestHandler {
 public:
  EchoHandler(TestService& service, Call& call) : TestHandler(service, call) {
    call_.Read();
  }
  void OnMessage(Message message) override {
    Note(message);
    call_.Write(std::move(message));
  }
  void OnSent() override { call_.Read(); }
  void OnHalfClose() override { call_.Finish({}); }
};

class SumHandler : public TestHandler {
 public:
  SumHandler(TestService& service, Call& call) : TestHandler(service, call) {
    call_.Read();
  }
  void OnMessage(Message message) override {
    Note(message);
    sum_ += message.size();
    call_.Read();
  }
  void OnHalfClose() override {
    call_.FinishWith(Message(Bytes::FromString(std::to_string(sum_))));
  }

 private:
  size_t sum_ = 0;
};

class GiveHandler : public TestHandler {
 public:
  GiveHandler(TestService& service, Call& call) : TestHandler(service, call) {
    call_.Read();
  }
  void OnMessage(Message message) override {
    const std::string text(message.Joined().view());
    left_ = std::stoi(text);
    bytes_ = Bytes::FromString(
        std::string(std::stoul(text.substr(text.find(' '))), 'g'));
    OnSent();
  }
  void OnSent() override {
    if (left_-- == 0) return call_.Finish({});
    call_.Write(Message(bytes_));
  }

 private:
  int left_ = 0;
  Bytes bytes_;
};

class EarlyHandler : public TestHandler {
 public:
  EarlyHandler(TestService& service, Call& call) : TestHandler(service, call) {
    call_.Read();
  }
  void OnMessage(Message) override { call_.Finish({}); }
};

class RefusingHandler : public TestHandler {
 public:
  RefusingHandler(TestService& service, Call& call)
      : TestHandler(service, call) {
    Status status(Code::kAborted, "100%\n\u2603");
    status.details = "why";
    call_.Finish(std::move(status));
  }
};

class MetaHandler : public TestHandler {
 public:
  MetaHandler(TestService& service, Call& call) : TestHandler(service, call) {
    for (const auto& [name, value] : call_.info().metadata) {
      if (!name.starts_with("x-")) continue;
      call_.AddHeader(name, value);
      call_.AddTrailer(name, value);
    }
    call_.Read();
  }
  void OnMessage(Message message) override {
    call_.FinishWith(std::move(message));
  }
};

Answer UntilGone(TestService& service, const Call& call) {
  ++service.blocked;
  while (call.context().Check()) std::this_thread::yield();
  --service.blocked;
  return tl::unexpected(Status(Code::kAborted, "gone"));
}

}  // namespace

CallInfo TestService::last_info() const {
  base::MutexLock lock(mutex_);
  return last_info_;
}

std::unique_ptr<Handler> TestService::Start(std::string_view method,
                                            Call& call) {
  {
    base::MutexLock lock(mutex_);
    last_info_ = call.info();
  }
  ++started;
  if (method == "Echo") return std::make_unique<EchoHandler>(*this, call);
  if (method == "Sum") return std::make_unique<SumHandler>(*this, call);
  if (method == "Give") return std::make_unique<GiveHandler>(*this, call);
  if (method == "Refuse") return std::make_unique<RefusingHandler>(*this, call);
  if (method == "Early") return std::make_unique<EarlyHandler>(*this, call);
  if (method == "Meta") return std::make_unique<MetaHandler>(*this, call);
  if (method == "Silent") return std::make_unique<TestHandler>(*this, call);
  if (method == "Hold") {
    held.push_back(&call);
    return std::make_unique<TestHandler>(*this, call);
  }
  if (method == "One") {
    return StartUnary(call, [](const Call&, const Bytes& request) -> Answer {
      return Message(request);
    });
  }
  if (method == "Block") {
    return StartUnary(call, [this](const Call& ctx, const Bytes&) -> Answer {
      return UntilGone(*this, ctx);
    });
  }
  --started;
  return nullptr;
}

// ---- What lies between.

void ManualLoop::TurnOnce() {
  {
    base::MutexLock lock(wake_mutex_);
    awake_ = false;
  }
  BeginTurn();
  EndTurn();
}

void ManualLoop::Wake() {
  base::MutexLock lock(wake_mutex_);
  awake_ = true;
  woken_.NotifyAll();
}

bool ManualLoop::AwaitWake() {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  base::MutexLock lock(wake_mutex_);
  while (!awake_ && std::chrono::steady_clock::now() < deadline) {
    woken_.WaitUntil(wake_mutex_, deadline);
  }
  return awake_;
}

void Records::OnEnd(const CallRecord& record) {
  statuses.push_back(record.status);
  ++count_;
}

Scene::Scene() : Scene([](Shared&) {}) {}

Scene::Scene(const std::function<void(Shared&)>& adjust,
             const Client::Options& options)
    : shared{.hub = hub,
             .find =
                 [this](std::string_view name) {
                   return name == service.name() ? &service : nullptr;
                 },
             .windows = windows},
      client(options) {
  adjust(shared);
  loop.TurnOnce();
  connection.emplace(shared, loop, static_cast<Carrier&>(*this),
                     Connection::Peer{"test:", "CN=tester"});
  WantsToSend();
  if (options.settings) Exchange();
}

Scene::~Scene() {
  Cut();
  // What is still in the pool comes back to the loop.
  while (hub.calls() > 0) {
    if (loop.AwaitWake()) loop.TurnOnce();
  }
  loop.Forget(*this);
}

void Scene::Flush() {
  if (blocked || !connection) return;
  for (;;) {
    connection->Gather(loop.output(), gather);
    if (loop.output().empty()) return;
    while (!loop.output().empty()) {
      size_t sent = 0;
      for (const iovec& piece : loop.output().pieces()) {
        to_client_.append(static_cast<const char*>(piece.iov_base),
                          piece.iov_len);
        sent += piece.iov_len;
      }
      loop.output().Drop(sent);
    }
  }
}

void Scene::Exchange() {
  last_output.clear();
  for (bool moved = true; moved;) {
    const std::string to_server = client.Take();
    if (!to_server.empty() && connection) connection->Receive(to_server);
    loop.TurnOnce();
    const std::string bytes = std::exchange(to_client_, {});
    last_output += bytes;
    if (!bytes.empty()) client.Receive(bytes);
    moved = !to_server.empty() || !bytes.empty();
  }
}

bool Scene::Until(const std::function<bool()>& condition) {
  for (;;) {
    Exchange();
    if (condition()) return true;
    if (!loop.AwaitWake()) return false;
  }
}

void Scene::SendRaw(std::string_view bytes) {
  if (connection) connection->Receive(bytes);
  Exchange();
}

void Scene::Pass(std::chrono::milliseconds time) {
  while (time.count() > 0) {
    const auto step = std::min(time, std::chrono::milliseconds(100));
    clock.Move(step);
    time -= step;
    hub.Turn();
    Exchange();
  }
}

void Scene::Cut() { connection.reset(); }

Outcome& Scene::Call(const std::string& method, std::string_view message,
                     Metadata fields) {
  const int32_t stream =
      client.Call("/test.Service/" + method, message, std::move(fields));
  Until([&] { return client.outcome(stream).closed.has_value(); });
  return client.outcome(stream);
}

}  // namespace casemate::rpc::http2
