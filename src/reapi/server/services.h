// Services: all that one REAPI server serves, put together.
#pragma once

#include <string>
#include <vector>

#include "reapi/server/action_cache_service.h"
#include "reapi/server/admission.h"
#include "reapi/server/arrivals.h"
#include "reapi/server/backends.h"
#include "reapi/server/byte_stream.h"
#include "reapi/server/capabilities_service.h"
#include "reapi/server/cas_service.h"
#include "reapi/server/server_parts.h"
#include "rpc/health.h"
#include "rpc/reflection.h"
#include "rpc/service.h"
#include "work/pool.h"

namespace casemate::reapi {

// CAS, ByteStream, ActionCache and Capabilities over the same backends; health
// and reflection of all of them.
class Services {
 public:
  // `memory_bytes` bounds what requests and answers hold together. `backends`
  // and `pool`, the one behind Call::Offload, outlive it.
  Services(Backends& backends, const ServerSettings& settings,
           int64_t memory_bytes, work::Pool& pool);

  // For a server; as long as this lives.
  std::vector<rpc::Service*> all();

  const Admission& admission() const { return admission_; }

 private:
  Admission admission_;
  Arrivals arrivals_;
  const ServerParts parts_;
  CapabilitiesService capabilities_;
  CasService cas_;
  ByteStream byte_stream_;
  ActionCacheService action_cache_;
  const std::vector<std::string> names_;
  rpc::Health health_;
  rpc::Reflection reflection_, old_reflection_;
};

}  // namespace casemate::reapi
