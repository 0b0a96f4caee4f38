#include "rpc/call_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "rpc/for_test.h"

namespace casemate::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Recorder : CallObserver {
  void OnEnd(const CallRecord& record) override {
    ends.push_back(record.info.method + " " +
                   std::string(CodeName(record.status.code)) + " " +
                   std::to_string(record.duration / milliseconds(1)) + " ms " +
                   std::to_string(record.messages_in) + "/" +
                   std::to_string(record.bytes_in) + " in " +
                   std::to_string(record.messages_out) + "/" +
                   std::to_string(record.bytes_out) + " out");
  }
  Notes ends;
};

class CallHubTest : public ::testing::Test {
 protected:
  FakeWire& Begin(Script script) {
    services_.push_back(
        std::make_unique<ScriptedService>(std::move(script), notes_));
    auto* wire = new FakeWire(hub_, notes_);
    wire->Begin(services_.back().get());
    return *wire;
  }
  // Moves the clock, tick by tick.
  void Pass(milliseconds time) {
    for (milliseconds done{0}; done < time; done += milliseconds(100)) {
      clock_.Move(std::min(milliseconds(100), time - done));
      hub_.Turn();
    }
  }

  Notes notes_;
  StillClock clock_;
  Recorder recorder_;
  std::vector<std::unique_ptr<ScriptedService>> services_;
  work::Pool pool_{"test", 1};
  CallHub hub_{pool_,
               {.idle_limit = milliseconds(1000),
                .observer = &recorder_,
                .clock = &clock_,
                .thread = false}};
};

TEST_F(CallHubTest, EndsACallWhosePeerSendsNothing) {
  FakeWire& wire = Begin({.start = [](Call& call) { call.Read(); }});
  Pass(milliseconds(1000));
  EXPECT_THAT(notes_, ElementsAre("read"));
  Pass(milliseconds(200));
  EXPECT_THAT(notes_, ElementsAre("read", "cancel", "finish DEADLINE_EXCEEDED",
                                  "~handler"));
  wire.Gone();
}

TEST_F(CallHubTest, EndsACallWhosePeerTakesNothing) {
  FakeWire& wire = Begin({.start = [](Call& call) { call.Write({}); }});
  Pass(milliseconds(1200));
  EXPECT_THAT(notes_,
              ElementsAre("write ", "cancel", "finish DEADLINE_EXCEEDED",
                          "abort", "~handler"));
  wire.Gone();
}

TEST_F(CallHubTest, ProgressExtendsTheTime) {
  FakeWire& wire = Begin({.start = [](Call& call) { call.Read(); },
                          .message = [](Call& call) { call.Read(); }});
  for (int i = 0; i < 5; ++i) {
    Pass(milliseconds(900));
    wire.Arrived({});
  }
  EXPECT_EQ(notes_.back(), "read");
  Pass(milliseconds(1200));
  EXPECT_EQ(notes_.back(), "~handler");
  wire.Gone();
}

TEST_F(CallHubTest, ACallThatOwesTheAnswerItselfIsNotIdle) {
  FakeWire& wire = Begin({});
  Pass(milliseconds(5000));
  EXPECT_THAT(notes_, IsEmpty());
  wire.Cancel({});
  wire.Gone();
}

TEST_F(CallHubTest, ACallMayChooseItsOwnLimit) {
  FakeWire& patient = Begin({.start = [](Call& call) {
    call.SetIdleLimit(milliseconds(0));
    call.Read();
  }});
  Pass(milliseconds(60'000));
  EXPECT_THAT(notes_, ElementsAre("read"));
  FakeWire& hasty = Begin({.start = [](Call& call) {
    call.SetIdleLimit(milliseconds(50));
    call.Write({});
  }});
  Pass(milliseconds(300));
  EXPECT_EQ(notes_.back(), "~handler");
  hasty.Gone();
  patient.Cancel({});
  patient.Gone();
}

TEST_F(CallHubTest, APeerThatDoesNotTakeTheEndIsCutOff) {
  FakeWire& wire = Begin({.start = [](Call& call) {
    call.SetIdleLimit(milliseconds(0));
    call.FinishWith({});
  }});
  Pass(milliseconds(1200));
  EXPECT_EQ(notes_.back(), "abort");
  wire.Gone();
}

TEST_F(CallHubTest, WakesAfterTheTimeAndOnce) {
  FakeWire& wire =
      Begin({.start = [](Call& call) { call.WakeAfter(milliseconds(250)); }});
  Pass(milliseconds(240));
  EXPECT_THAT(notes_, IsEmpty());
  Pass(milliseconds(10));
  EXPECT_THAT(notes_, ElementsAre("wake"));
  Pass(milliseconds(1000));
  EXPECT_THAT(notes_, ElementsAre("wake"));
  wire.Cancel({});
  wire.Gone();
}

TEST_F(CallHubTest, ALaterRequestReplacesTheEarlierAndZeroTakesItBack) {
  Call* call = nullptr;
  FakeWire& wire = Begin({.start = [&](Call& c) {
    call = &c;
    c.WakeAfter(milliseconds(100));
    c.WakeAfter(milliseconds(300));
  }});
  Pass(milliseconds(200));
  EXPECT_THAT(notes_, IsEmpty());
  Pass(milliseconds(100));
  EXPECT_THAT(notes_, ElementsAre("wake"));
  call->WakeAfter(milliseconds(100));
  call->WakeAfter(milliseconds(0));
  Pass(milliseconds(500));
  EXPECT_THAT(notes_, ElementsAre("wake"));
  wire.Cancel({});
  wire.Gone();
}

TEST_F(CallHubTest, AWakeForACallThatHasEndedIsForgotten) {
  FakeWire& wire = Begin({.start = [](Call& call) {
    call.WakeAfter(milliseconds(100));
    call.Finish({});
  }});
  wire.Gone();
  Pass(milliseconds(500));
  EXPECT_THAT(notes_, ElementsAre("finish OK", "~handler", "deleted"));
}

TEST_F(CallHubTest, TellsTheObserverOfEachCallOnce) {
  FakeWire& wire = Begin(
      {.start = [](Call& call) { call.Read(); },
       .message =
           [](Call& call) { call.Write(Message(Bytes::FromString("four"))); },
       .sent =
           [](Call& call) {
             call.FinishWith(Message(Bytes::FromString("five!")));
           }});
  clock_.Move(milliseconds(7));
  wire.Arrived(Message(Bytes::FromString("one")));
  wire.Sent();
  EXPECT_THAT(recorder_.ends, IsEmpty());
  wire.Gone();
  EXPECT_THAT(recorder_.ends,
              ElementsAre("/test.Service/Method OK 7 ms 1/3 in 2/9 out"));
}

TEST_F(CallHubTest, CancelAllEndsWhatRunsAndWhatIsStillToBegin) {
  FakeWire& running = Begin({});
  EXPECT_EQ(hub_.calls(), 1);
  hub_.CancelAll(Status(Code::kUnavailable, "bye"));
  EXPECT_THAT(notes_, ElementsAre("cancel", "finish UNAVAILABLE", "~handler"));
  running.Gone();
  notes_.clear();
  FakeWire& late = Begin({});
  EXPECT_THAT(notes_, ElementsAre("finish UNAVAILABLE"));
  late.Gone();
  EXPECT_EQ(hub_.calls(), 0);
}

TEST_F(CallHubTest, WaitUntilEmptySaysWhetherItIs) {
  FakeWire& wire = Begin({});
  EXPECT_FALSE(hub_.WaitUntilEmpty(steady_clock::now()));
  wire.Cancel({});
  std::jthread leaving([&] { wire.Gone(); });
  EXPECT_TRUE(hub_.WaitUntilEmpty(steady_clock::time_point::max()));
}

TEST(CallHub, ItsThreadWakesWithinMilliseconds) {
  work::Pool pool("test", 1);
  CallHub hub(pool, {});
  Notes notes;
  steady_clock::time_point woken;
  ScriptedService service(
      {.start = [](Call& call) { call.WakeAfter(milliseconds(3)); },
       .wake =
           [&](Call& call) {
             woken = steady_clock::now();
             call.Finish({});
           }},
      notes);
  const auto start = steady_clock::now();
  auto* wire = new FakeWire(hub, notes);
  wire->Begin(&service);
  wire->Gone();
  EXPECT_TRUE(hub.WaitUntilEmpty(steady_clock::time_point::max()));
  EXPECT_GE(woken - start, milliseconds(3));
}

// For the thread sanitizer: the hub goes as soon as the last call has.
TEST(CallHub, MayEndRightAfterItsLastCall) {
  work::Pool pool("test", 1);
  for (int turn = 0; turn < 300; ++turn) {
    Notes notes;
    ScriptedService service(
        {.start = [](Call& call) { call.Offload([&] { call.Finish({}); }); }},
        notes);
    CallHub hub(pool, {});
    auto* wire = new FakeWire(hub, notes);
    wire->Begin(&service);
    wire->Gone();
  }
}

}  // namespace
}  // namespace casemate::rpc
