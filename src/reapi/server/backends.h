// What stands behind the services.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "actions/instance.h"
#include "casemate/result.h"
#include "reapi/wire/choices.h"
#include "work/budget.h"

namespace casemate::reapi {

using Backend = actions::Instance;

// Which stores an instance name means. From any thread.
class Backends {
 public:
  virtual ~Backends() = default;

  // The name is well formed (CheckInstanceName). May block when the instance is
  // new; `Known` answers for those that were met before, without blocking, and
  // with null for others. kInvalidArgument for one that is not served.
  virtual Result<const Backend*> Open(const Context& ctx,
                                      std::string_view instance) = 0;
  virtual const Backend* Known(std::string_view instance) = 0;
};

// The same stores for every name.
class SharedBackends : public Backends {
 public:
  explicit SharedBackends(Backend backend) : backend_(backend) {}
  Result<const Backend*> Open(const Context&, std::string_view) override {
    return &backend_;
  }
  const Backend* Known(std::string_view) override { return &backend_; }

 private:
  const Backend backend_;
};

// What the operator may choose. The same for all services of one server.
struct ServerSettings {
  int zstd_level = 3;
  CommittedSize committed_size = CommittedSize::kCompressed;  // D-01.
  bool drain_compressed_duplicates = false;                   // D-02's switch.
  bool require_action_blobs = false;  // off, as D-28 has it.
  int64_t max_cas_blob_size = 0;      // 0: no limit.
};

}  // namespace casemate::reapi
