#include "rpc/health.h"

#include <optional>
#include <utility>

#include "grpc/health/v1/health.pb.h"
#include "rpc/simple.h"

namespace casemate::rpc {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::health::v1::HealthListRequest;
using grpc::health::v1::HealthListResponse;

constexpr size_t kMostListed = 100;

HealthCheckResponse ToResponse(int status) {
  HealthCheckResponse response;
  response.set_status(static_cast<HealthCheckResponse::ServingStatus>(status));
  return response;
}

tl::expected<HealthCheckResponse, Status> Check(const std::string& service,
                                                int status) {
  if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
    return tl::unexpected(
        Status(Code::kNotFound, "no such service: " + service));
  }
  return ToResponse(status);
}

tl::expected<HealthListResponse, Status> List(
    const std::map<std::string, int>& all) {
  if (all.size() > kMostListed) {
    return tl::unexpected(
        Status(Code::kResourceExhausted, "more than 100 services to list"));
  }
  HealthListResponse response;
  for (const auto& [service, status] : all) {
    (*response.mutable_statuses())[service] = ToResponse(status);
  }
  return response;
}

}  // namespace

// One who watches: gets the state, and each that follows it. Changes that come
// faster than he takes them are told as one.
class Health::Watch : public Handler {
 public:
  Watch(Health& health, Call& call) : health_(health), call_(call) {
    call_.Read();
  }
  ~Watch() override { health_.Remove(this); }

  void OnMessage(Message message) override {
    if (has_request_) {
      return call_.Finish({Code::kUnimplemented, "more than one request"});
    }
    has_request_ = true;
    const Bytes bytes = message.Joined();
    HealthCheckRequest request;
    if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return call_.Finish(
          {Code::kInvalidArgument, "the request is no HealthCheckRequest"});
    }
    service_ = request.service();
    call_.Read();
  }

  void OnHalfClose() override {
    if (!has_request_) {
      return call_.Finish({Code::kUnimplemented, "no request"});
    }
    health_.Add(this, call_.waker());
    Tell();
  }

  void OnWake() override { Tell(); }
  void OnSent() override {
    sending_ = false;
    Tell();
  }

 private:
  void Tell() {
    if (sending_) return;
    const View now = health_.Look(service_);
    if (now.status != told_) {
      sending_ = true;
      told_ = now.status;
      call_.Write(Message(
          Bytes::FromString(ToResponse(now.status).SerializeAsString())));
    } else if (now.last) {
      call_.Finish({Code::kUnavailable, "the server is shutting down"});
    }
  }

  Health& health_;
  Call& call_;
  bool has_request_ = false;
  std::string service_;
  bool sending_ = false;
  std::optional<int> told_;
};

Health::Health(std::span<const std::string> services) {
  states_[""] = State::kServing;
  for (const std::string& each : services) states_[each] = State::kServing;
}

std::unique_ptr<Handler> Health::Start(std::string_view method, Call& call) {
  if (method == "Watch") return std::make_unique<Watch>(*this, call);
  if (method == "Check") {
    return StartUnaryInPlace(
        call, OverMessages<HealthCheckRequest, HealthCheckResponse>(
                  [this](const Call&, const HealthCheckRequest& request) {
                    return Check(request.service(),
                                 Look(request.service()).status);
                  }));
  }
  if (method == "List") {
    return StartUnaryInPlace(
        call, OverMessages<HealthListRequest, HealthListResponse>(
                  [this](const Call&, const HealthListRequest&) {
                    return List(All());
                  }));
  }
  return nullptr;
}

void Health::Set(std::string_view service, State state) {
  std::vector<Waker> wakers;
  {
    base::MutexLock lock(mutex_);
    states_[std::string(service)] = state;
    wakers = Wakers();
  }
  for (const Waker& wake : wakers) wake();
}

void Health::Drain() {
  std::vector<Waker> wakers;
  {
    base::MutexLock lock(mutex_);
    draining_ = true;
    wakers = Wakers();
  }
  for (const Waker& wake : wakers) wake();
}

Health::View Health::Look(const std::string& service) const {
  base::MutexLock lock(mutex_);
  const auto found = states_.find(service);
  if (found == states_.end()) {
    return {HealthCheckResponse::SERVICE_UNKNOWN, draining_};
  }
  const bool serving = found->second == State::kServing && !draining_;
  return {
      serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING,
      draining_};
}

std::map<std::string, int> Health::All() const {
  std::map<std::string, int> all;
  base::MutexLock lock(mutex_);
  for (const auto& [service, state] : states_) {
    const bool serving = state == State::kServing && !draining_;
    all[service] = serving ? HealthCheckResponse::SERVING
                           : HealthCheckResponse::NOT_SERVING;
  }
  return all;
}

void Health::Add(const Watch* watch, Waker waker) {
  base::MutexLock lock(mutex_);
  watches_[watch] = std::move(waker);
}

void Health::Remove(const Watch* watch) {
  base::MutexLock lock(mutex_);
  watches_.erase(watch);
}

// Copies: a waker is not called under a lock that its handler takes.
std::vector<Waker> Health::Wakers() const {
  std::vector<Waker> wakers;
  for (const auto& [watch, waker] : watches_) wakers.push_back(waker);
  return wakers;
}

}  // namespace casemate::rpc
