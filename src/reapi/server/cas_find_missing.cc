#include <utility>

#include "base/try.h"
#include "reapi/server/cas_service.h"
#include "reapi/wire/batch_messages.h"

namespace casemate::reapi {
namespace {

// More are not looked up on a thread of the wire, even in memory: this many
// take about a millisecond.
constexpr size_t kMostInPlace = 10'000;

class FindMissingCall : public CasCall {
 public:
  using CasCall::CasCall;

 private:
  Result<Needs> Parse(rpc::Message request) override {
    ASSIGN_OR_RETURN(request_, ParseFindMissingRequest(request.pieces()));
    return Needs{
        request_.instance,
        static_cast<int64_t>(request_.digests.size() * sizeof(Digest))};
  }

  bool TryServe(const Backend& backend) override {
    if (!backend.store.NeverWaits() || request_.digests.size() > kMostInPlace) {
      return false;
    }
    Serve(backend);
    return true;
  }

  void Serve(const Backend& backend) override {
    BlobStore& store = backend.store;
    const auto missing = store.FindMissing(call().context(), request_.digests);
    if (!missing) return call().Finish(missing.error());
    call().FinishWith(rpc::Message(FormatFindMissingResponse(*missing)));
  }

  FindMissingRequest request_;
};

}  // namespace

std::unique_ptr<rpc::Handler> StartFindMissing(rpc::Call& call,
                                               const ServerParts& parts) {
  return std::make_unique<FindMissingCall>(call, parts);
}

}  // namespace casemate::reapi
