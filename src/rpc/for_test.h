// A wire that does what the test says, and a handler that notes what it hears.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "rpc/call_core.h"
#include "rpc/server.h"
#include "work/pool.h"

namespace casemate::rpc {

// Stands still unless it is moved.
class StillClock : public base::Clock {
 public:
  std::chrono::steady_clock::time_point Now() const override { return now_; }
  std::chrono::system_clock::time_point WallNow() const override { return {}; }
  void Move(std::chrono::milliseconds by) { now_ += by; }

 private:
  std::chrono::steady_clock::time_point now_{std::chrono::hours(1)};
};

using Notes = std::vector<std::string>;

// Notes what it is asked, and answers only what the test tells it to: its
// events are public. `on_read`, if set, runs within each WireRead.
class FakeWire : public CallCore {
 public:
  FakeWire(CallHub& hub, Notes& notes)
      : CallCore(hub, {"/test.Service/Method", "test:", {}},
                 std::chrono::steady_clock::time_point::max()),
        notes_(notes) {}
  ~FakeWire() override { notes_.push_back("deleted"); }

  using CallCore::Arrived;
  using CallCore::Gone;
  using CallCore::HalfClosed;
  using CallCore::Sent;

  std::function<void()> on_read;

 private:
  void WireRead() override {
    if (on_read) return on_read();
    notes_.push_back("read");
  }
  void WireWrite(Message message) override {
    notes_.push_back("write " + std::string(message.Joined().view()));
  }
  void WireFinish(const Status& status, Message* last) override {
    if (last != nullptr) {
      notes_.push_back("last " + std::string(last->Joined().view()));
    }
    notes_.push_back("finish " + std::string(CodeName(status.code)));
  }
  void WireAbort() override { notes_.push_back("abort"); }

  Notes& notes_;
};

// What a handler does is a function of the test's.
struct Script {
  using Step = std::function<void(Call&)>;
  Step start = {};
  Step message = {};
  Step half_close = {};
  Step sent = {};
  Step wake = {};
  Step cancel = {};
};

class ScriptedHandler : public Handler {
 public:
  ScriptedHandler(Call& call, const Script& script, Notes& notes)
      : call_(call), script_(script), notes_(notes) {
    Do(script_.start);
  }
  ~ScriptedHandler() override { notes_.push_back("~handler"); }

  void OnMessage(Message message) override {
    notes_.push_back("message " + std::string(message.Joined().view()));
    Do(script_.message);
  }
  void OnHalfClose() override { Note("half-close", script_.half_close); }
  void OnSent() override { Note("sent", script_.sent); }
  void OnWake() override { Note("wake", script_.wake); }
  void OnCancel() override { Note("cancel", script_.cancel); }

 private:
  void Note(const char* what, const Script::Step& then) {
    notes_.push_back(what);
    Do(then);
  }
  void Do(const Script::Step& function) {
    if (function) function(call_);
  }

  Call& call_;
  const Script& script_;
  Notes& notes_;
};

class ScriptedService : public Service {
 public:
  ScriptedService(Script script, Notes& notes)
      : script_(std::move(script)), notes_(notes) {}
  std::string_view name() const override { return "test.Service"; }
  std::unique_ptr<Handler> Start(std::string_view, Call& call) override {
    return std::make_unique<ScriptedHandler>(call, script_, notes_);
  }

 private:
  const Script script_;
  Notes& notes_;
};

}  // namespace casemate::rpc
