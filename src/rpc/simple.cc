#include "rpc/simple.h"

namespace casemate::rpc {
namespace {

class UnaryHandler : public Handler {
 public:
  UnaryHandler(Call& call, Unary unary, bool in_place)
      : call_(call), unary_(std::move(unary)), in_place_(in_place) {
    call_.Read();
  }

  void OnMessage(Message message) override {
    if (has_request_) return Refuse("more than one request message");
    has_request_ = true;
    request_ = std::move(message);
    call_.Read();
  }

  void OnHalfClose() override {
    if (!has_request_) return Refuse("no request message");
    if (in_place_) return Serve();
    call_.Offload([this] { Serve(); });
  }

 private:
  void Refuse(const char* what) {
    call_.Finish(Status(Code::kUnimplemented,
                        std::string(what) + " for a method that takes one"));
  }

  void Serve() {
    Answer answer = unary_(call_, std::exchange(request_, {}).Joined());
    if (!answer) return call_.Finish(std::move(answer).error());
    call_.FinishWith(std::move(*answer));
  }

  Call& call_;
  const Unary unary_;
  const bool in_place_;
  bool has_request_ = false;
  Message request_;
};

}  // namespace

std::unique_ptr<Handler> StartUnary(Call& call, Unary unary) {
  return std::make_unique<UnaryHandler>(call, std::move(unary), false);
}

std::unique_ptr<Handler> StartUnaryInPlace(Call& call, Unary unary) {
  return std::make_unique<UnaryHandler>(call, std::move(unary), true);
}

}  // namespace casemate::rpc
