// Instance: the two stores behind one instance name.
#pragma once

#include "actions/action_cache.h"
#include "casemate/blob_store.h"

namespace casemate::actions {

// Both outlive whoever uses them.
struct Instance {
  BlobStore& store;
  ActionCache& actions;
};

}  // namespace casemate::actions
