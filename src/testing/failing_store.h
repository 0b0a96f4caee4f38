// FailingStore: a store that is down.
#pragma once

#include "casemate/blob_store.h"

namespace casemate::testing {

// Every call fails with `code`.
class FailingStore : public BlobStore {
 public:
  explicit FailingStore(Code code) : error_{code, "this store always fails"} {}

  Result<std::vector<Digest>> FindMissing(const Context&,
                                          std::span<const Digest>) override {
    return error_;
  }
  Result<std::unique_ptr<Reader>> Get(const Context&, const Digest&,
                                      int64_t) override {
    return error_;
  }
  Result<void> Put(const Context&, const Digest&, const Source&) override {
    return error_;
  }
  Result<std::unique_ptr<Writer>> StartWrite(const Context&, const Digest&,
                                             std::string_view,
                                             Encoding) override {
    return error_;
  }

 private:
  const Error error_;
};

}  // namespace casemate::testing
