// Health: grpc.health.v1.Health, by which others learn whether we serve.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "rpc/service.h"

namespace casemate::rpc {

// Knows the state of the whole server, under the name "", and of each service.
// Everything is answered in place, so that a busy pool does not look like an
// ill server. All methods may be called from any thread.
class Health : public Service {
 public:
  enum class State { kServing, kNotServing };

  // All serve from the start.
  explicit Health(std::span<const std::string> services);

  // Those who watch it are told. A new name becomes known.
  void Set(std::string_view service, State state) EXCLUDES(mutex_);

  std::string_view name() const override { return "grpc.health.v1.Health"; }
  std::unique_ptr<Handler> Start(std::string_view method, Call& call) override;

  // From here on nothing serves, whatever is set. Those who watch are told so,
  // and then their calls end with kUnavailable.
  void Drain() override EXCLUDES(mutex_);

 private:
  class Watch;

  // As on the wire: a number of HealthCheckResponse.ServingStatus.
  struct View {
    int status = 0;
    bool last = false;  // Nothing will change any more.
  };
  View Look(const std::string& service) const EXCLUDES(mutex_);
  std::map<std::string, int> All() const EXCLUDES(mutex_);
  void Add(const Watch* watch, Waker waker) EXCLUDES(mutex_);
  void Remove(const Watch* watch) EXCLUDES(mutex_);
  std::vector<Waker> Wakers() const REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::map<std::string, State, std::less<>> states_ GUARDED_BY(mutex_);
  std::map<const Watch*, Waker> watches_ GUARDED_BY(mutex_);
  bool draining_ GUARDED_BY(mutex_) = false;
};

}  // namespace casemate::rpc
