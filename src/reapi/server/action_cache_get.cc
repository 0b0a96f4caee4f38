#include <string>
#include <utility>
#include <vector>

#include "actions/action_result.h"
#include "actions/completeness.h"
#include "base/try.h"
#include "reapi/server/action_cache_service.h"
#include "reapi/wire/choices.h"
#include "reapi/wire/digest_fields.h"
#include "reapi/wire/fields.h"

namespace casemate::reapi {
namespace {

constexpr size_t kMostBytes = kPeerMessageLimit - kMessageMargin;

// What is taken for a result before its size is known. Few are larger.
constexpr size_t kUsualBytes = 64 << 10;

class GetActionResultCall : public CasCall {
 public:
  using CasCall::CasCall;

 private:
  Result<Needs> Parse(rpc::Message request) override {
    request_ = request.Joined();
    DigestField action;
    int64_t function = 0;
    std::string scratch;
    bool is_well_formed = true;
    FieldReader reader({&request_, 1});
    while (reader.Next()) {
      if (reader.Is(1, WireType::kBytes)) instance_ = reader.Text(scratch);
      if (reader.Is(2, WireType::kBytes)) {
        is_well_formed &= action.Merge(reader.Message());
      }
      if (reader.Is(3, WireType::kVarint)) {
        wishes_.stdout_blob = reader.Varint() != 0;
      }
      if (reader.Is(4, WireType::kVarint)) {
        wishes_.stderr_blob = reader.Varint() != 0;
      }
      if (reader.Is(5, WireType::kBytes)) {
        if (wishes_.output_files.size() == kMaxDigestsPerRequest) {
          return Error{kMalformed, "too many files to be inlined"};
        }
        wishes_.output_files.push_back(reader.Text(scratch));
      }
      if (reader.Is(6, WireType::kVarint)) function = reader.Enum();
    }
    if (!reader.ok() || !is_well_formed) {
      return Error{kMalformed, "the message is no GetActionResultRequest"};
    }
    ASSIGN_OR_RETURN(FunctionCheck check, FunctionCheck::Start(function));
    ASSIGN_OR_RETURN(action_, action.Get());
    RETURN_IF_ERROR(check.Check(action_));
    room_ = wishes_.empty() ? kUsualBytes : kMostBytes;
    return Needs{instance_, static_cast<int64_t>(room_ + request_.size())};
  }

  bool TryServe(const Backend&) override { return false; }

  void Serve(const Backend& backend) override {
    auto answer = Find(backend);
    if (!answer) return call().Finish(std::move(answer).error());
    FinishHolding(*std::move(answer));
  }

  // The result in pieces.
  Result<std::vector<Bytes>> Find(const Backend& backend) {
    const Context& ctx = call().context();
    ASSIGN_OR_RETURN(const Bytes result,
                     backend.actions.Get(ctx, {instance_, action_}));
    if (result.size() > room_ &&
        !TakeMore(static_cast<int64_t>(result.size() - room_))) {
      return Error{Code::kResourceExhausted, NoMemoryNow().message};
    }
    const auto missing =
        actions::MissingBlobs(ctx, backend.store, action_.function(), result);
    // What is no result, however it came there, is as good as none.
    const bool is_none =
        !missing && missing.error().code == Code::kInvalidArgument;
    if (!missing && !is_none) return missing.error();
    if (is_none || !missing->empty()) {
      return Error{kIncompleteResult,
                   "what action " + action_.ToString() +
                       " has made is not all there any more"};
    }
    if (wishes_.empty()) return std::vector{result};
    return Inlined(backend.store, result);
  }

  Result<std::vector<Bytes>> Inlined(BlobStore& store, const Bytes& result) {
    ASSIGN_OR_RETURN(
        auto blobs, actions::FindInlineable(action_.function(), result, wishes_,
                                            kMostBytes));
    std::vector<Digest> digests;
    for (const auto& each : blobs) digests.push_back(each.digest);
    const auto found = store.GetMany(call().context(), digests);
    for (size_t i = 0; i < blobs.size(); ++i) {
      if (found[i]) blobs[i].data = found[i]->bytes();  // Else left out: R-168.
    }
    return actions::WithInlined(result, blobs);
  }

  size_t room_ = 0;  // Taken for the answer.
  Bytes request_;
  std::string instance_;
  Digest action_;
  actions::InlineWishes wishes_;  // Refer to the request.
};

}  // namespace

std::unique_ptr<rpc::Handler> StartGetActionResult(rpc::Call& call,
                                                   const ServerParts& parts) {
  return std::make_unique<GetActionResultCall>(call, parts);
}

}  // namespace casemate::reapi
