// What the services of one server share.
#pragma once

#include "reapi/server/admission.h"
#include "reapi/server/arrivals.h"
#include "reapi/server/backends.h"
#include "work/pool.h"

namespace casemate::reapi {

// All of it outlives the services.
struct ServerParts {
  Backends& backends;
  ServerSettings settings;
  Admission& admission;
  Arrivals& arrivals;
  work::Pool& pool;  // The one behind Call::Offload.
};

}  // namespace casemate::reapi
