// CasCall: what the methods with one request and one answer have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/bytes.h"
#include "reapi/server/server_parts.h"
#include "rpc/call.h"

namespace casemate::reapi {

// The stores of an instance. kInvalidArgument for names that are malformed or
// not served. May block.
Result<const Backend*> OpenInstance(const Context& ctx, Backends& backends,
                                    std::string_view instance);

// The same for names that were met before, without blocking: null for others,
// the malformed among them.
const Backend* KnownInstance(Backends& backends, std::string_view instance);

// The refusal of a call for which there is no memory now.
rpc::Status NoMemoryNow();

// A method that takes one message and gives one, in these steps: the request is
// read and parsed; memory is taken, at need after a short wait; then it is
// served in place if nothing has to be waited for, else by one task.
class CasCall : public rpc::Handler {
 public:
  CasCall(rpc::Call& call, const ServerParts& parts);

  void OnMessage(rpc::Message message) override;
  void OnHalfClose() override;
  void OnWake() override;
  void OnCancel() override;

 protected:
  struct Needs {
    std::string_view instance;  // Of the request, which the handler keeps.
    int64_t bytes = 0;          // To be taken while the call is served.
  };

  // Takes over the request; the error is how the call ends.
  virtual Result<Needs> Parse(rpc::Message request) = 0;

  // Serves the call without waiting and ends it: true; or false, and Serve is
  // called where it may wait.
  virtual bool TryServe(const Backend& backend) = 0;
  virtual void Serve(const Backend& backend) = 0;

  rpc::Call& call() { return call_; }
  const ServerParts& parts() const { return parts_; }

  // More of it, for what turned out to be larger; false if it is not free now.
  bool TakeMore(int64_t bytes);

  // What was taken goes with the answer, and is given back once that is sent.
  void FinishHolding(std::vector<Bytes> answer);

 private:
  void Begin();
  void Go();

  rpc::Call& call_;
  const ServerParts parts_;
  Admission::Turn turn_;
  Admission::Lease lease_;
  Admission::Lease more_;
  bool has_request_ = false;
  rpc::Message request_;
  Needs needs_;
};

}  // namespace casemate::reapi
