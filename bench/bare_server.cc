#include "bench/bare_server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "bench/server_process.h"
#include "digest/hasher.h"

namespace casemate::bench {
namespace {

class ReadCall : public grpc::ServerGenericBidiReactor {
 public:
  explicit ReadCall(const BareMethod& method) : method_(method) {
    StartRead(&request_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    source_ = method_.read(request_);
    Next();
  }
  void OnWriteDone(bool ok) override {
    ok ? Next() : Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    piece_ = source_();
    if (!piece_.last) return StartWrite(&piece_.message);
    StartWriteAndFinish(&piece_.message, {}, {});
  }

  const BareMethod& method_;
  grpc::ByteBuffer request_;
  Source source_;
  Piece piece_;
};

class WriteCall : public grpc::ServerGenericBidiReactor {
 public:
  explicit WriteCall(const BareMethod& method) : sink_(method.write()) {
    StartRead(&message_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) return StartWriteAndFinish(&answer_, {}, {});
    sink_(message_);
    message_.Clear();
    StartRead(&message_);
  }
  void OnDone() override { delete this; }

 private:
  static grpc::ByteBuffer Empty() {
    const grpc::Slice none;
    return {&none, 1};
  }

  const Sink sink_;
  grpc::ByteBuffer message_;
  const grpc::ByteBuffer answer_ = Empty();
};

class BareService : public grpc::CallbackGenericService {
 public:
  explicit BareService(const std::map<std::string, BareMethod>& methods)
      : methods_(methods) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const auto found = methods_.find(context->method());
    CASEMATE_CHECK(found != methods_.end());
    const BareMethod& method = found->second;
    if (method.read) return new ReadCall(method);
    return new WriteCall(method);
  }

 private:
  const std::map<std::string, BareMethod>& methods_;
};

grpc::Slice FromMemory(size_t size) {
  static const std::string memory(1 << 20, 'm');
  CASEMATE_CHECK(size <= memory.size());
  return {memory.data(), size, grpc::Slice::STATIC_SLICE};
}

Source Stream(const grpc::ByteBuffer& request) {
  const ReadRequest read = ParseRead(ToText(request));
  return [read, left = read.count]() mutable {
    const grpc::Slice slice = FromMemory(read.size);
    return Piece{{&slice, 1}, --left <= 0};
  };
}

Source Batch(const grpc::ByteBuffer& request) {
  const ReadRequest read = ParseRead(ToText(request));
  return [read] {
    const std::string head(kBatchHead, 'h');
    std::vector<grpc::Slice> slices;
    slices.reserve(2 * static_cast<size_t>(read.count));
    for (int i = 0; i < read.count; ++i) {
      slices.emplace_back(head);
      slices.push_back(FromMemory(read.size));
    }
    return Piece{{slices.data(), slices.size()}};
  };
}

Sink ToHash() {
  auto hasher = std::make_shared<digest::Hasher>(DigestFunction::kSha256);
  return [hasher](const grpc::ByteBuffer& message) {
    std::vector<grpc::Slice> slices;
    CASEMATE_CHECK(message.Dump(&slices).ok());
    for (const grpc::Slice& each : slices) {
      hasher->Update(std::as_bytes(std::span(each.begin(), each.size())));
    }
  };
}

}  // namespace

std::string ToText(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  CASEMATE_CHECK(buffer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& each : slices) {
    text.append(reinterpret_cast<const char*>(each.begin()), each.size());
  }
  return text;
}

ReadRequest ParseRead(const std::string& text) {
  ReadRequest read;
  CASEMATE_CHECK(std::sscanf(text.c_str(), "%zu %d", &read.size, &read.count) ==
                 2);
  return read;
}

std::map<std::string, BareMethod> BareMethods() {
  return {{"/bare/Read", {.read = Stream}},
          {"/bare/Batch", {.read = Batch}},
          {"/bare/Hash", {.write = ToHash}}};
}

int ServeBare(const std::map<std::string, BareMethod>& methods) {
  BareService service(methods);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 4096);
  builder.RegisterCallbackGenericService(&service);
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  const auto server = builder.BuildAndStart();
  CASEMATE_CHECK(server != nullptr);
  AnnounceAndWait("127.0.0.1:" + std::to_string(port));
  server->Shutdown();
  return 0;
}

}  // namespace casemate::bench
