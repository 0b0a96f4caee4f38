// DirectCall: a call whose wire is the caller's own thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rpc/call.h"
#include "rpc/service.h"

namespace casemate::testing {

// Runs a handler without any thread: each of the client's functions returns
// when the handler has nothing left to do, tasks given to Offload included. For
// fuzzers, which want to know where they are, and for measuring what a handler
// costs by itself. What wakes it after a time never does.
class DirectCall : public rpc::Call {
 public:
  DirectCall(rpc::Service& service, std::string_view method)
      : info_{"/" + std::string(service.name()) + "/" + std::string(method),
              "direct:",
              {}},
        context_{{}, stop_.get_token()} {
    context_.deadline = std::chrono::steady_clock::time_point::max();
    handler_ = service.Start(method, *this);
    Settle();
  }
  ~DirectCall() override { Cancel(); }

  // --- The client's side.
  bool ended() const { return handler_ == nullptr; }
  bool reading() const { return reading_ && !ended(); }
  const rpc::Status& status() const { return status_; }
  std::vector<rpc::Message>& answers() { return answers_; }

  void Send(rpc::Message message) {  // Only while it reads.
    reading_ = false;
    handler_->OnMessage(std::move(message));
    Settle();
  }
  void HalfClose() {  // The same.
    reading_ = false;
    handler_->OnHalfClose();
    Settle();
  }
  void Cancel() {
    if (ended()) return;
    stop_.request_stop();
    handler_->OnCancel();
    status_ = rpc::Status(Code::kCancelled, "the client has gone");
    finished_ = true;
    Settle();
  }

  // --- The handler's.
  const rpc::CallInfo& info() const override { return info_; }
  const Context& context() const override { return context_; }
  void Read() override { reading_ = true; }
  void AddHeader(std::string, std::string) override {}
  void AddTrailer(std::string, std::string) override {}
  void Write(rpc::Message message) override {
    answers_.push_back(std::move(message));
    sent_ = true;
  }
  void Finish(rpc::Status status) override {
    if (std::exchange(finished_, true)) return;
    status_ = std::move(status);
  }
  void FinishWith(rpc::Message message) override {
    if (std::exchange(finished_, true)) return;
    answers_.push_back(std::move(message));
  }
  void Offload(std::function<void()> task) override { task_ = std::move(task); }
  rpc::Waker waker() override {
    return [woken = woken_] { *woken = true; };
  }
  void WakeAfter(std::chrono::milliseconds) override {}
  void SetIdleLimit(std::chrono::milliseconds) override {}

 private:
  void Settle() {
    while (handler_ != nullptr) {
      if (task_) {
        std::exchange(task_, nullptr)();
      } else if (finished_) {
        handler_.reset();
      } else if (std::exchange(sent_, false)) {
        handler_->OnSent();
      } else if (woken_->exchange(false)) {
        handler_->OnWake();
      } else {
        return;
      }
    }
  }

  const rpc::CallInfo info_;
  std::stop_source stop_;
  Context context_;
  std::unique_ptr<rpc::Handler> handler_;
  std::function<void()> task_;
  std::shared_ptr<std::atomic<bool>> woken_ =
      std::make_shared<std::atomic<bool>>(false);
  bool reading_ = false;
  bool sent_ = false;
  bool finished_ = false;
  rpc::Status status_;
  std::vector<rpc::Message> answers_;
};

}  // namespace casemate::testing
