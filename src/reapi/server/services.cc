#include "reapi/server/services.h"

#include <string>

namespace casemate::reapi {
namespace {

// The full names of what is served, in the order of `all`.
std::vector<std::string> Names(std::initializer_list<const rpc::Service*> own) {
  std::vector<std::string> names;
  for (const rpc::Service* const service : own) {
    names.emplace_back(service->name());
  }
  names.emplace_back("grpc.health.v1.Health");
  names.emplace_back(rpc::Reflection::kV1);
  names.emplace_back(rpc::Reflection::kV1Alpha);
  return names;
}

}  // namespace

Services::Services(Backends& backends, const ServerSettings& settings,
                   int64_t memory_bytes, work::Pool& pool)
    : admission_(memory_bytes),
      parts_{backends, settings, admission_, arrivals_, pool},
      capabilities_(parts_),
      cas_(parts_),
      byte_stream_(parts_),
      action_cache_(parts_),
      names_(Names({&capabilities_, &cas_, &byte_stream_, &action_cache_})),
      health_(names_),
      reflection_(rpc::Reflection::kV1, names_),
      old_reflection_(rpc::Reflection::kV1Alpha, names_) {}

std::vector<rpc::Service*> Services::all() {
  return {&capabilities_, &cas_,        &byte_stream_,   &action_cache_,
          &health_,       &reflection_, &old_reflection_};
}

}  // namespace casemate::reapi
