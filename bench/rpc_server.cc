// The methods of bare_server.cc as handlers of rpc/.
#include <memory>

#include "base/check.h"
#include "bench/bare_server.h"
#include "bench/rpc_rows.h"
#include "bench/server_process.h"
#include "digest/hasher.h"
#include "rpc/grpc/grpc_server.h"

namespace casemate::bench {
namespace {

class ReadHandler : public rpc::Handler {
 public:
  ReadHandler(rpc::Call& call, const Bytes& memory)
      : call_(call), memory_(memory) {
    call_.Read();
  }
  void OnMessage(rpc::Message message) override {
    read_ = ParseRead(std::string(message.Joined().view()));
    Next();
  }
  void OnHalfClose() override {
    call_.Finish({Code::kInvalidArgument, "no request"});
  }
  void OnSent() override { Next(); }

 private:
  void Next() {
    rpc::Message message(memory_.Slice(0, read_.size));
    if (--read_.count > 0) return call_.Write(std::move(message));
    call_.FinishWith(std::move(message));
  }

  rpc::Call& call_;
  const Bytes& memory_;
  ReadRequest read_;
};

class BatchHandler : public rpc::Handler {
 public:
  BatchHandler(rpc::Call& call, const Bytes& memory)
      : call_(call), memory_(memory) {
    call_.Read();
  }
  void OnMessage(rpc::Message request) override {
    const ReadRequest read = ParseRead(std::string(request.Joined().view()));
    const Bytes blob = memory_.Slice(0, read.size);
    // All heads in one run of bytes, as a service does that cares.
    const auto count = static_cast<size_t>(read.count);
    const Bytes heads = Bytes::FromString(std::string(kBatchHead * count, 'h'));
    rpc::Message message;
    for (size_t i = 0; i < count; ++i) {
      message.Append(heads.Slice(i * kBatchHead, kBatchHead));
      message.Append(blob);
    }
    call_.FinishWith(std::move(message));
  }

 private:
  rpc::Call& call_;
  const Bytes& memory_;
};

class HashHandler : public rpc::Handler {
 public:
  explicit HashHandler(rpc::Call& call) : call_(call) { call_.Read(); }
  void OnMessage(rpc::Message message) override {
    for (const Bytes& piece : message.pieces()) hasher_.Update(piece.span());
    message = {};  // Before the next is asked for.
    call_.Read();
  }
  void OnHalfClose() override { call_.FinishWith({}); }

 private:
  rpc::Call& call_;
  digest::Hasher hasher_{DigestFunction::kSha256};
};

class BenchService : public rpc::Service {
 public:
  std::string_view name() const override { return "bare"; }
  std::unique_ptr<rpc::Handler> Start(std::string_view method,
                                      rpc::Call& call) override {
    if (method == "Read") return std::make_unique<ReadHandler>(call, memory_);
    if (method == "Batch") return std::make_unique<BatchHandler>(call, memory_);
    if (method == "Hash") return std::make_unique<HashHandler>(call);
    return nullptr;
  }

 private:
  const Bytes memory_ = Bytes::FromString(std::string(1 << 20, 'm'));
};

}  // namespace

int ServeRpc() {
  work::Pool pool("io", 4);
  BenchService service;
  rpc::Service* const services[] = {&service};
  rpc::ServerOptions options;
  options.listeners = {"127.0.0.1:0"};
  auto server = rpc::MakeGrpcServer(options, services, pool);
  CASEMATE_CHECK(server);
  AnnounceAndWait((*server)->addresses().front());
  return 0;
}

}  // namespace casemate::bench
