#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actions/action_result.h"
#include "actions/completeness.h"
#include "base/try.h"
#include "reapi/server/action_cache_service.h"
#include "reapi/server/answers.h"
#include "reapi/wire/choices.h"
#include "reapi/wire/digest_fields.h"
#include "reapi/wire/fields.h"

namespace casemate::reapi {
namespace {

// An Action above this is not looked at.
constexpr int64_t kMaxActionBytes = 4 << 20;

// What matters here of an Action message.
struct ActionFields {
  DigestField command;
  bool do_not_cache = false;
};

std::optional<ActionFields> ParseAction(const Bytes& bytes) {
  ActionFields action;
  bool is_well_formed = true;
  FieldReader reader({&bytes, 1});
  while (reader.Next()) {
    if (reader.Is(1, WireType::kBytes)) {
      is_well_formed &= action.command.Merge(reader.Message());
    }
    if (reader.Is(7, WireType::kVarint)) {
      action.do_not_cache = reader.Varint() != 0;
    }
  }
  if (!reader.ok() || !is_well_formed) return std::nullopt;
  return action;
}

class UpdateActionResultCall : public CasCall {
 public:
  using CasCall::CasCall;

 private:
  Result<Needs> Parse(rpc::Message request) override {
    const auto bytes = static_cast<int64_t>(request.size());
    DigestField action;
    int64_t function = 0;
    std::string scratch;
    bool is_well_formed = true, has_result = false;
    FieldReader reader(request.pieces());
    while (reader.Next()) {
      if (reader.Is(1, WireType::kBytes)) instance_ = reader.Text(scratch);
      if (reader.Is(2, WireType::kBytes)) {
        is_well_formed &= action.Merge(reader.Message());
      }
      if (reader.Is(3, WireType::kBytes)) {
        AddResult(reader.Value().Joined(), has_result);
      }
      if (reader.Is(5, WireType::kVarint)) function = reader.Enum();
    }
    if (!reader.ok() || !is_well_formed) {
      return Error{kMalformed, "the message is no UpdateActionResultRequest"};
    }
    if (!has_result) return Error{kMalformed, "there is no action_result"};
    ASSIGN_OR_RETURN(FunctionCheck check, FunctionCheck::Start(function));
    ASSIGN_OR_RETURN(action_, action.Get());
    RETURN_IF_ERROR(check.Check(action_));
    return Needs{instance_, 2 * bytes};  // The result may be written anew.
  }

  // A message that stands twice is merged, which is to join its bytes.
  void AddResult(Bytes bytes, bool& has_result) {
    if (std::exchange(has_result, true)) {
      result_ = Bytes::FromString(std::string(result_.view()) +
                                  std::string(bytes.view()));
    } else {
      result_ = std::move(bytes);
    }
  }

  bool TryServe(const Backend&) override { return false; }

  void Serve(const Backend& backend) override {
    auto checked = actions::CheckResult(action_.function(), result_);
    if (!checked) return call().Finish(std::move(checked).error());
    if (auto status = LookAtAction(backend.store); !status.ok()) {
      return call().Finish(std::move(status));
    }
    if (auto kept = KeepInlined(backend.store, checked->inlined); !kept) {
      return call().Finish(std::move(kept).error());
    }
    if (auto status = LookAtOutputs(backend.store, checked->result);
        !status.ok()) {
      return call().Finish(std::move(status));
    }
    const auto updated = backend.actions.Update(
        call().context(), {instance_, action_}, checked->result);
    if (!updated) return call().Finish(updated.error());
    FinishHolding({checked->result});
  }

  // What the Action itself, if it is there, says against it.
  rpc::Status LookAtAction(BlobStore& store) {
    auto bytes = ReadAction(store);
    if (!bytes) return std::move(bytes).error();
    const auto action =
        *bytes ? ParseAction(**bytes) : std::optional<ActionFields>();
    if (action && action->do_not_cache) {
      return {Code::kFailedPrecondition,
              "action " + action_.ToString() + " is not to be cached"};
    }
    if (!parts().settings.require_action_blobs) return {};
    if (!*bytes) return MissingBlobs("the Action is missing", {&action_, 1});
    if (!action) return {kMalformed, "the action digest is not of an Action"};
    const auto command = action->command.Get();
    if (!command) return command.error();
    const auto missing = store.FindMissing(call().context(), {&*command, 1});
    if (!missing) return missing.error();
    if (missing->empty()) return {};
    return MissingBlobs("the action's Command is missing", *missing);
  }

  // nullopt if it is not in the store, or too large to be one.
  Result<std::optional<Bytes>> ReadAction(BlobStore& store) {
    if (action_.size() > kMaxActionBytes) return std::optional<Bytes>();
    auto blob = std::move(store.GetMany(call().context(), {&action_, 1})[0]);
    if (blob) return std::optional(blob->bytes());
    const Code code = blob.error().code;
    if (code == Code::kNotFound || code == Code::kDataLoss) {
      return std::optional<Bytes>();
    }
    return std::move(blob).error();
  }

  Result<void> KeepInlined(BlobStore& store, const std::vector<Blob>& blobs) {
    if (blobs.empty()) return {};
    for (auto& stored : store.PutMany(call().context(), blobs)) {
      if (!stored)
        return Wrap(UploadError(stored.error()), "keep what was inlined");
    }
    for (const Blob& blob : blobs) parts().arrivals.Tell(store, blob.digest());
    return {};
  }

  rpc::Status LookAtOutputs(BlobStore& store, const Bytes& result) {
    if (!parts().settings.require_action_blobs) return {};
    const auto missing = actions::MissingBlobs(call().context(), store,
                                               action_.function(), result);
    if (!missing) return missing.error();
    if (missing->empty()) return {};
    return MissingBlobs("outputs of the action are missing", *missing);
  }

  std::string instance_;
  Digest action_;
  Bytes result_;
};

}  // namespace

std::unique_ptr<rpc::Handler> StartUpdateActionResult(
    rpc::Call& call, const ServerParts& parts) {
  return std::make_unique<UpdateActionResultCall>(call, parts);
}

}  // namespace casemate::reapi
