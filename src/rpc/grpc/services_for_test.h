// What the tests call: one small service for each way that a call can go.
#pragma once

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "rpc/service.h"

namespace casemate::rpc {

// Each method is a function that makes the handler.
class TestService : public Service {
 public:
  using Maker = std::function<std::unique_ptr<Handler>(Call&)>;
  TestService(std::string name, Maker maker)
      : name_(std::move(name)), maker_(std::move(maker)) {}

  std::string_view name() const override { return name_; }
  std::unique_ptr<Handler> Start(std::string_view method, Call& call) override {
    return method == "Call" ? maker_(call) : nullptr;
  }

 private:
  const std::string name_;
  const Maker maker_;
};

// Sends each message back, piece by piece as it came.
class EchoHandler : public Handler {
 public:
  explicit EchoHandler(Call& call) : call_(call) { call_.Read(); }
  void OnMessage(Message message) override { call_.Write(std::move(message)); }
  void OnSent() override { call_.Read(); }
  void OnHalfClose() override { call_.Finish({}); }

 private:
  Call& call_;
};

// Counts what happens; waits can be made for each count.
class Counts {
 public:
  void Add(const char* what) EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    happened_.push_back(what);
    changed_.NotifyAll();
  }
  int64_t Of(std::string_view what) const EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    return std::count(happened_.begin(), happened_.end(), what);
  }
  // Whether it came to that within 20 s.
  bool Await(std::string_view what, int64_t count) EXCLUDES(mutex_) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    base::MutexLock lock(mutex_);
    while (std::count(happened_.begin(), happened_.end(), what) < count) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      changed_.WaitUntil(mutex_, deadline);
    }
    return true;
  }

 private:
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::vector<std::string> happened_ GUARDED_BY(mutex_);
};

// Does at its start what the test says, and notes what it hears then.
class NotingHandler : public Handler {
 public:
  using Start = std::function<void(Call&)>;
  NotingHandler(Call& call, Counts& counts, const Start& start)
      : counts_(counts) {
    counts_.Add("start");
    start(call);
  }
  ~NotingHandler() override { counts_.Add("end"); }
  void OnMessage(Message) override { counts_.Add("message"); }
  void OnHalfClose() override { counts_.Add("half-close"); }
  void OnSent() override { counts_.Add("sent"); }
  void OnWake() override { counts_.Add("wake"); }
  void OnCancel() override { counts_.Add("cancel"); }

 private:
  Counts& counts_;
};

}  // namespace casemate::rpc
