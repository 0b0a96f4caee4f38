#include "rpc/grpc/grpc_server.h"

#include <grpc/support/log.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/try.h"
#include "rpc/call_hub.h"
#include "rpc/grpc/grpc_call.h"
#include "rpc/grpc/listener.h"

namespace casemate::rpc {
namespace {

using Time = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

// Every path that no other service has registered: all of them.
class AllCalls : public grpc::CallbackGenericService {
 public:
  AllCalls(CallHub& hub, std::span<Service* const> services,
           const GrpcCallOptions& options)
      : hub_(hub), options_(options) {
    for (Service* const each : services) services_[each->name()] = each;
  }

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    auto* const call = new GrpcCall(hub_, *context, options_);
    grpc::ServerGenericBidiReactor* const reactor = call->reactor();
    call->Begin(Find(context->method()));
    return reactor;
  }

 private:
  // Of "/package.Service/Method".
  Service* Find(std::string_view path) const {
    const size_t slash = path.rfind('/');
    if (slash == std::string_view::npos || slash == 0) return nullptr;
    const auto found = services_.find(path.substr(1, slash - 1));
    return found == services_.end() ? nullptr : found->second;
  }

  CallHub& hub_;
  const GrpcCallOptions options_;
  std::map<std::string_view, Service*> services_;
};

class GrpcServer : public Server {
 public:
  GrpcServer(const ServerOptions& options, std::span<Service* const> services,
             work::Pool& pool)
      : services_(services.begin(), services.end()),
        hub_(pool,
             {.idle_limit = options.idle_limit, .observer = options.observer}),
        calls_(hub_, services,
               {.peer = options.observer != nullptr,
                .max_request_bytes = options.max_request_bytes}) {}
  ~GrpcServer() override;

  Result<void> Start(const ServerOptions& options);

  const std::vector<std::string>& addresses() const override {
    return addresses_;
  }
  int64_t Drain(Time deadline) override;
  int64_t calls_running() const override { return hub_.calls(); }

 private:
  const std::vector<Service*> services_;
  CallHub hub_;
  AllCalls calls_;
  std::vector<std::string> addresses_;
  std::unique_ptr<grpc::Server> server_;
};

int Count(int64_t number) {
  return static_cast<int>(std::clamp<int64_t>(number, 0, INT_MAX));
}

void Configure(grpc::ServerBuilder& builder, const ServerOptions& options) {
  const auto set = [&](const char* name, int64_t value) {
    builder.AddChannelArgument(name, Count(value));
  };
  builder.SetMaxReceiveMessageSize(Count(options.max_request_bytes));
  builder.SetMaxSendMessageSize(-1);
  set(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);  // See inflate.h.
  // Two servers on one port would each get some of the calls.
  set(GRPC_ARG_ALLOW_REUSEPORT, 0);
  set(GRPC_ARG_ENABLE_RETRIES, 0);
  set(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_streams_per_connection);
  set(GRPC_ARG_KEEPALIVE_TIME_MS, options.keepalive_time.count());
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, options.keepalive_timeout.count());
  set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // A client may ask every 5 s whether we are there (G-26).
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

// gRPC's own words, to where ours go; they explain what we report otherwise.
void Forward(gpr_log_func_args* args) {
  base::Log(base::LogLevel::kDebug, std::string("gRPC: ") + args->message);
}

Result<void> GrpcServer::Start(const ServerOptions& options) {
  grpc::ServerBuilder builder;
  Configure(builder, options);
  builder.RegisterCallbackGenericService(&calls_);
  std::vector<int> ports(options.listeners.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string& listener = options.listeners[i];
    RETURN_IF_ERROR(CheckListener(listener));
    RETURN_IF_ERROR(ClearStaleSocket(listener));
    builder.AddListeningPort(listener, grpc::InsecureServerCredentials(),
                             &ports[i]);
  }
  server_ = builder.BuildAndStart();
  for (size_t i = 0; i < ports.size(); ++i) {
    if (server_ == nullptr && ports[i] == 0) {
      return WhyNot(options.listeners[i]);
    }
    addresses_.push_back(WithPort(options.listeners[i], ports[i]));
  }
  if (server_ == nullptr) return Error{Code::kInternal, "gRPC did not start"};
  return {};
}

int64_t GrpcServer::Drain(Time deadline) {
  for (Service* const service : services_) service->Drain();
  // For ever would overflow.
  const auto left_time = std::min<Time::duration>(
      deadline - std::chrono::steady_clock::now(), std::chrono::hours(24));
  const auto wall = std::chrono::system_clock::now() + left_time;
  // Tells all clients to go elsewhere, and returns when the last call is gone.
  std::jthread stop([&] { server_->Shutdown(wall); });
  hub_.WaitUntilEmpty(deadline);
  const int64_t left = hub_.calls();
  hub_.CancelAll(Status(Code::kUnavailable, "the server is shutting down"));
  return left;
}

GrpcServer::~GrpcServer() {
  if (server_ == nullptr) return;
  hub_.CancelAll(Status(Code::kUnavailable, "the server is shutting down"));
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace

Result<std::unique_ptr<Server>> MakeGrpcServer(
    const ServerOptions& options, std::span<Service* const> services,
    work::Pool& pool) {
  gpr_set_log_function(Forward);
  auto server = std::make_unique<GrpcServer>(options, services, pool);
  RETURN_IF_ERROR(server->Start(options));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace casemate::rpc
