#include "rpc/call_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <thread>

#include "rpc/for_test.h"

namespace casemate::rpc {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

Message Text(const char* text) { return Message(Bytes::FromString(text)); }
const Status kLeft(Code::kCancelled, "left");

void Read(Call& call) { call.Read(); }
void FinishOk(Call& call) { call.Finish({}); }

class CallCoreTest : public ::testing::Test {
 protected:
  // A call that has begun, with a handler that follows `script`.
  FakeWire& Begin(Script script) {
    service_.emplace(std::move(script), notes_);
    auto* wire = new FakeWire(hub_, notes_);
    wire->Begin(&*service_);
    return *wire;
  }

  Notes notes_;
  std::optional<ScriptedService> service_;
  work::Pool pool_{"test", 2};
  CallHub hub_{pool_, {}};
};

TEST_F(CallCoreTest, TellsWhatTheWireDidAndEndsWithBothSides) {
  FakeWire& wire = Begin({.start = Read, .message = FinishOk});
  wire.Arrived(Text("hi"));
  wire.Gone();
  EXPECT_THAT(notes_, ElementsAre("read", "message hi", "finish OK", "~handler",
                                  "deleted"));
}

TEST_F(CallCoreTest, NothingIsHeardAfterFinish) {
  FakeWire& wire = Begin({.start = [](Call& call) {
    call.Read();
    call.Finish({});
    call.Read();
    call.Write({});
    call.Finish({});
  }});
  wire.Arrived(Text("late"));
  wire.HalfClosed();
  wire.Sent();
  wire.Gone();
  EXPECT_THAT(notes_, ElementsAre("read", "finish OK", "~handler", "deleted"));
}

TEST_F(CallCoreTest, CancelIsHeardOnceAndIsTheLast) {
  FakeWire& wire = Begin({.start = Read, .cancel = [](Call& call) {
                            call.Read();
                            call.Write({});
                            call.Finish({});
                          }});
  wire.Cancel(kLeft);
  wire.Cancel(kLeft);
  wire.HalfClosed();
  wire.Gone();
  EXPECT_THAT(notes_, ElementsAre("read", "cancel", "finish CANCELLED",
                                  "~handler", "deleted"));
}

TEST_F(CallCoreTest, CancelWinsOverWhatIsPending) {
  FakeWire* wire = nullptr;
  std::latch cancelled(1);
  wire = &Begin({.start = [&](Call& call) {
    call.Read();
    call.Offload([&] { cancelled.wait(); });
  }});
  wire->Arrived(Text("pending"));
  wire->Cancel(kLeft);
  cancelled.count_down();
  wire->Gone();
  ASSERT_TRUE(
      hub_.WaitUntilEmpty(std::chrono::steady_clock::time_point::max()));
  EXPECT_THAT(notes_, Not(Contains("message pending")));
  EXPECT_THAT(notes_, Contains("cancel"));
}

TEST_F(CallCoreTest, AStuckWriteIsGivenUpWhenTheCallIsCancelled) {
  FakeWire& wire = Begin({.start = [](Call& call) { call.Write(Text("a")); }});
  wire.Cancel(kLeft);
  wire.Gone();
  EXPECT_THAT(notes_, ElementsAre("write a", "cancel", "finish CANCELLED",
                                  "abort", "~handler", "deleted"));
}

TEST_F(CallCoreTest, ACancelAfterFinishGivesUpWhatIsUnsent) {
  FakeWire& wire =
      Begin({.start = [](Call& call) { call.FinishWith(Text("a")); }});
  wire.Cancel(kLeft);
  wire.Gone();
  EXPECT_THAT(notes_, ElementsAre("last a", "finish OK", "~handler", "abort",
                                  "deleted"));
}

TEST_F(CallCoreTest, AMissingMethodIsUnimplemented) {
  auto* wire = new FakeWire(hub_, notes_);
  wire->Begin(nullptr);
  wire->Gone();
  EXPECT_THAT(notes_, ElementsAre("finish UNIMPLEMENTED", "deleted"));
}

// A wire that answers at once must not make the stack deeper each time.
TEST_F(CallCoreTest, AWireThatAnswersWithinReadDoesNotRecurse) {
  int left = 200'000;
  service_.emplace(Script{.start = Read,
                          .message =
                              [&](Call& call) {
                                --left > 0 ? call.Read() : call.Finish({});
                              }},
                   notes_);
  auto* wire = new FakeWire(hub_, notes_);
  wire->on_read = [wire] { wire->Arrived(Text("x")); };
  wire->Begin(&*service_);
  EXPECT_EQ(left, 0);
  wire->Gone();
}

TEST_F(CallCoreTest, NothingIsToldWhileATaskRuns) {
  std::latch told(1), finished(1);
  std::atomic<bool> running = false;
  FakeWire& wire = Begin({.start =
                              [&](Call& call) {
                                call.Read();
                                call.Offload([&] {
                                  running = true;
                                  told.wait();
                                  running = false;
                                });
                              },
                          .message =
                              [&](Call& call) {
                                EXPECT_FALSE(running);
                                call.Finish({});
                                finished.count_down();
                              }});
  wire.Arrived(Text("meanwhile"));
  EXPECT_THAT(notes_, Not(Contains("message meanwhile")));
  told.count_down();
  finished.wait();
  wire.Gone();
  hub_.WaitUntilEmpty(std::chrono::steady_clock::time_point::max());
}

TEST_F(CallCoreTest, TheStopIsRequestedWhileATaskRuns) {
  FakeWire& wire = Begin({.start = [](Call& call) {
    call.Offload([&call] {
      while (call.context().Check()) std::this_thread::yield();
    });
  }});
  wire.Cancel(kLeft);  // Or the task, and the test, never ends.
  wire.Gone();
  hub_.WaitUntilEmpty(std::chrono::steady_clock::time_point::max());
  EXPECT_THAT(notes_,
              ElementsAre("cancel", "finish CANCELLED", "~handler", "deleted"));
}

TEST_F(CallCoreTest, ATaskMayWriteReadFinishAndAskForTheNext) {
  FakeWire& wire = Begin({.start = [](Call& call) {
    call.Offload([&call] {
      call.Write(Text("a"));
      call.Offload([&call] {
        call.Read();
        call.FinishWith(Text("b"));
      });
    });
  }});
  wire.Gone();
  hub_.WaitUntilEmpty(std::chrono::steady_clock::time_point::max());
  EXPECT_THAT(notes_, ElementsAre("write a", "read", "last b", "finish OK",
                                  "~handler", "deleted"));
}

TEST_F(CallCoreTest, ATaskThatCleansUpMayFollowACancel) {
  FakeWire& wire = Begin({.cancel = [this](Call& call) {
    call.Offload([this] { notes_.push_back("clean"); });
  }});
  wire.Cancel(kLeft);
  wire.Gone();
  hub_.WaitUntilEmpty(std::chrono::steady_clock::time_point::max());
  EXPECT_THAT(notes_, ElementsAre("cancel", "finish CANCELLED", "clean",
                                  "~handler", "deleted"));
}

TEST_F(CallCoreTest, WhatATaskHoldsEndsBeforeTheHandlerHearsMore) {
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = held;
  std::latch done(1);
  FakeWire& wire = Begin({.start =
                              [&](Call& call) {
                                call.Read();
                                call.Offload([held = std::move(held)] {});
                              },
                          .message =
                              [&](Call& call) {
                                EXPECT_TRUE(watch.expired());
                                call.Finish({});
                                done.count_down();
                              }});
  wire.Arrived(Text("x"));
  done.wait();
  wire.Gone();
  hub_.WaitUntilEmpty(std::chrono::steady_clock::time_point::max());
}

TEST_F(CallCoreTest, AWakerWakesAndWakesThatComeTogetherAreToldTogether) {
  std::latch woken(1);
  Waker waker;
  FakeWire& wire = Begin({.start = [&](Call& call) { waker = call.waker(); },
                          .wake =
                              [&](Call& call) {
                                call.Finish({});
                                woken.count_down();
                              }});
  for (int i = 0; i < 100; ++i) waker();
  woken.wait();
  wire.Gone();
  hub_.WaitUntilEmpty(std::chrono::steady_clock::time_point::max());
  EXPECT_THAT(notes_, ElementsAre("wake", "finish OK", "~handler", "deleted"));
}

TEST_F(CallCoreTest, AWakerDoesNothingOnceTheCallIsGone) {
  Waker waker;
  FakeWire& wire = Begin({.start = [&](Call& call) {
    waker = call.waker();
    call.Finish({});
  }});
  wire.Gone();
  waker();
  Waker copy = waker;
  copy();
  EXPECT_THAT(notes_, ElementsAre("finish OK", "~handler", "deleted"));
}

// For the thread sanitizer: everything at once, and each call ends once.
TEST_F(CallCoreTest, SurvivesEventsFromAllSides) {
  for (int turn = 0; turn < 300; ++turn) {
    Notes notes;
    std::atomic<int> cancels = 0;
    Waker waker;
    ScriptedService service(
        {.start =
             [&](Call& call) {
               waker = call.waker();
               call.WakeAfter(std::chrono::milliseconds(1));
               call.Read();
             },
         .message =
             [](Call& call) {
               call.Offload([&call] { call.Write(Text("x")); });
             },
         .sent = [](Call& call) { call.Finish({}); },
         .cancel = [&](Call&) { ++cancels; }},
        notes);
    auto* wire = new FakeWire(hub_, notes);
    wire->Begin(&service);
    {
      std::jthread waking([&] { waker(); });
      std::jthread leaving([&] { wire->Cancel(kLeft); });
      std::jthread sending([&] {
        wire->Arrived(Text("m"));
        wire->Sent();
      });
    }
    wire->Gone();
    hub_.WaitUntilEmpty(std::chrono::steady_clock::time_point::max());
    EXPECT_LE(cancels, 1);
    EXPECT_EQ(std::count(notes.begin(), notes.end(), "~handler"), 1);
    EXPECT_EQ(notes.back(), "deleted");
  }
}

}  // namespace
}  // namespace casemate::rpc
