// The threads and the memory that transfers share.
#pragma once

#include <cstdint>
#include <memory>

namespace casemate {

struct ResourceOptions {
  static constexpr int64_t kLeastMemory = 4 << 20;

  // Buffers and file content in flight. Less than kLeastMemory counts as that.
  int64_t memory_bytes = 64 << 20;
  int jobs = 0;  // Store operations at once; 0: chosen from the cores.
};

// Made once in a program and used by any number of transfers, also at the same
// time, which share it fairly. Safe from many threads; must outlive them.
class Resources {
 public:
  explicit Resources(const ResourceOptions& options = {});
  ~Resources();
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  struct State;
  State& state() { return *state_; }  // For the library itself.

 private:
  std::unique_ptr<State> state_;
};

}  // namespace casemate
