// Bytes from a peer, in pieces: a connection with a service behind it neither
// crashes nor leaks, whatever they are. The first byte of the input says how
// large the pieces are, and whether the preface is sent for the fuzzer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "rpc/call_hub.h"
#include "rpc/http2/connection.h"
#include "rpc/http2/loop.h"
#include "rpc/service.h"
#include "work/budget.h"
#include "work/pool.h"

namespace casemate::rpc::http2 {
namespace {

class Echo : public Handler {
 public:
  explicit Echo(Call& call) : call_(call) { call_.Read(); }
  void OnMessage(Message message) override { call_.Write(std::move(message)); }
  void OnSent() override { call_.Read(); }
  void OnHalfClose() override { call_.Finish({}); }

 private:
  Call& call_;
};

class EchoService : public Service {
 public:
  std::string_view name() const override { return "S"; }
  std::unique_ptr<Handler> Start(std::string_view, Call& call) override {
    return std::make_unique<Echo>(call);
  }
};

class FuzzLoop : public Loop {
 public:
  FuzzLoop() : Loop(base::SystemClock()) {}
  void Turn() {
    BeginTurn();
    EndTurn();
  }

 private:
  void Wake() override {}
};

class Sink : public Carrier {
 public:
  void WantsToSend() override {}
  void GiveUp() override { given_up = true; }
  bool given_up = false;
};

void Run(std::string_view input) {
  if (input.empty()) return;
  const auto control = static_cast<uint8_t>(input[0]);
  input.remove_prefix(1);
  static work::Pool pool("fuzz", 1);
  CallHub hub(pool, {.thread = false});
  EchoService service;
  work::Budget windows(1 << 20);
  Shared shared{.hub = hub,
                .find = [&](std::string_view) { return &service; },
                .windows = windows,
                .max_request_bytes = 1 << 16};
  FuzzLoop loop;
  Sink sink;
  {
    Connection connection(shared, loop, sink, {"fuzz:", ""});
    const auto feed = [&](std::string_view bytes) {
      connection.Receive(bytes);
      loop.Turn();
      connection.Gather(loop.output(), 1 << 16);
      loop.output().Clear();
    };
    if ((control & 1) != 0) {
      feed(
          std::string_view("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                           "\0\0\0\4\0\0\0\0\0",
                           33));
    }
    const size_t piece = control < 2 ? input.size() : control / 2;
    while (!input.empty() && !sink.given_up && !connection.finished()) {
      const size_t part = std::min(piece, input.size());
      feed(input.substr(0, part));
      input.remove_prefix(part);
    }
  }
  CASEMATE_CHECK(hub.calls() == 0);
  CASEMATE_CHECK(windows.used() == 0);
}

}  // namespace
}  // namespace casemate::rpc::http2

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  casemate::rpc::http2::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
