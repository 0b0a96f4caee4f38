#include "casemate/resources.h"

#include <algorithm>
#include <thread>

#include "transfer/resources_state.h"

namespace casemate {
namespace {

// Store operations wait for disks and peers, so there are more of them than
// cores; beyond a few they only get in each other's way.
int Jobs(int wanted) {
  if (wanted > 0) return wanted;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 4,
                    16);
}

}  // namespace

Resources::State::State(const ResourceOptions& options)
    : budget(std::max(options.memory_bytes, ResourceOptions::kLeastMemory)),
      readers(budget),
      pool("casemate-store", Jobs(options.jobs)) {}

Resources::Resources(const ResourceOptions& options)
    : state_(std::make_unique<State>(options)) {}

Resources::~Resources() = default;

}  // namespace casemate
