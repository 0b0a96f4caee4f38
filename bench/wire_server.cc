// The same handlers on both carriers. "/wire/Read": the request is "SIZE COUNT"
// as text: so many messages of such a size, from memory. "/wire/Discard": takes
// all that comes. "/wire/Echo": one message back.
#include <memory>

#include "base/check.h"
#include "bench/bare_server.h"
#include "bench/server_process.h"
#include "bench/wire_rows.h"
#include "rpc/grpc/grpc_server.h"
#include "rpc/http2/server.h"

namespace casemate::bench {
namespace {

class Read : public rpc::Handler {
 public:
  Read(rpc::Call& call, const Bytes& memory) : call_(call), memory_(memory) {
    call_.Read();
  }
  void OnMessage(rpc::Message message) override {
    read_ = ParseRead(std::string(message.Joined().view()));
    OnSent();
  }
  void OnSent() override {
    rpc::Message message(memory_.Slice(0, read_.size));
    if (--read_.count > 0) return call_.Write(std::move(message));
    call_.FinishWith(std::move(message));
  }

 private:
  rpc::Call& call_;
  const Bytes& memory_;
  ReadRequest read_;
};

class Discard : public rpc::Handler {
 public:
  explicit Discard(rpc::Call& call) : call_(call) { call_.Read(); }
  void OnMessage(rpc::Message) override { call_.Read(); }
  void OnHalfClose() override { call_.FinishWith({}); }

 private:
  rpc::Call& call_;
};

class Echo : public rpc::Handler {
 public:
  explicit Echo(rpc::Call& call) : call_(call) { call_.Read(); }
  void OnMessage(rpc::Message message) override {
    call_.FinishWith(std::move(message));
  }

 private:
  rpc::Call& call_;
};

class WireService : public rpc::Service {
 public:
  std::string_view name() const override { return "wire"; }
  std::unique_ptr<rpc::Handler> Start(std::string_view method,
                                      rpc::Call& call) override {
    if (method == "Read") return std::make_unique<Read>(call, memory_);
    if (method == "Discard") return std::make_unique<Discard>(call);
    if (method == "Echo") return std::make_unique<Echo>(call);
    return nullptr;
  }

 private:
  const Bytes memory_ = Bytes::FromString(std::string(4 << 20, 'm'));
};

}  // namespace

int ServeWire(const std::string& carrier) {
  work::Pool pool("io", 2);
  WireService service;
  rpc::Service* const services[] = {&service};
  rpc::ServerOptions options;
  options.listeners = {"127.0.0.1:0"};
  std::unique_ptr<rpc::Server> server;
  if (carrier == "http2") {
    auto made = rpc::MakeHttp2Server(options, services, pool);
    CASEMATE_CHECK(made);
    server = std::move(*made);
  } else {
    auto made = rpc::MakeGrpcServer(options, services, pool);
    CASEMATE_CHECK(made);
    server = std::move(*made);
  }
  AnnounceAndWait(server->addresses().front());
  return 0;
}

}  // namespace casemate::bench
