#include "reapi/server/cas_call.h"

#include <utility>

#include "base/try.h"
#include "reapi/wire/resource_name.h"

namespace casemate::reapi {

Result<const Backend*> OpenInstance(const Context& ctx, Backends& backends,
                                    std::string_view instance) {
  RETURN_IF_ERROR(CheckInstanceName(instance));
  return backends.Open(ctx, instance);
}

const Backend* KnownInstance(Backends& backends, std::string_view instance) {
  return CheckInstanceName(instance) ? backends.Known(instance) : nullptr;
}

rpc::Status NoMemoryNow() {
  return {Code::kResourceExhausted,
          "too many bytes are in flight at this server; try again later"};
}

CasCall::CasCall(rpc::Call& call, const ServerParts& parts)
    : call_(call), parts_(parts), turn_(parts.admission, call) {
  call_.Read();
}

void CasCall::OnMessage(rpc::Message message) {
  if (has_request_) {
    return call_.Finish({Code::kUnimplemented,
                         "more than one request message for a method that "
                         "takes one"});
  }
  has_request_ = true;
  request_ = std::move(message);
  call_.Read();
}

void CasCall::OnHalfClose() {
  if (!has_request_) {
    return call_.Finish({Code::kUnimplemented,
                         "no request message for a method that takes one"});
  }
  auto needs = Parse(std::exchange(request_, {}));
  if (!needs) return call_.Finish(std::move(needs).error());
  needs_ = *needs;
  Begin();
}

void CasCall::OnWake() {
  if (turn_.waiting()) Begin();
}

void CasCall::OnCancel() { turn_.Leave(); }

void CasCall::Begin() {
  switch (turn_.Ask(needs_.bytes, lease_)) {
    case Admission::Turn::Answer::kTaken: return Go();
    case Admission::Turn::Answer::kWait: return;
    case Admission::Turn::Answer::kRefused: return call_.Finish(NoMemoryNow());
  }
}

void CasCall::Go() {
  const Backend* const known = KnownInstance(parts_.backends, needs_.instance);
  if (known != nullptr) {
    if (!TryServe(*known)) {
      call_.Offload([this, known] { Serve(*known); });
    }
    return;
  }
  call_.Offload([this] {
    const auto opened =
        OpenInstance(call_.context(), parts_.backends, needs_.instance);
    if (!opened) return call_.Finish(opened.error());
    Serve(**opened);
  });
}

bool CasCall::TakeMore(int64_t bytes) {
  auto more = parts_.admission.TryTake(bytes);
  if (more) more_ = *std::move(more);
  return more.has_value();
}

void CasCall::FinishHolding(std::vector<Bytes> answer) {
  struct Held {
    Bytes bytes;
    Admission::Lease lease, more;
  };
  rpc::Message message;
  for (Bytes& piece : answer) {
    if (message.size() == 0 && !piece.empty()) {
      const auto span = piece.span();
      piece = Bytes::Share(
          std::make_shared<Held>(
              Held{std::move(piece), std::move(lease_), std::move(more_)}),
          span);
    }
    message.Append(std::move(piece));
  }
  call_.FinishWith(std::move(message));
}

}  // namespace casemate::reapi
