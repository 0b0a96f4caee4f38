#include "reapi/server/admission.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace casemate::reapi {
namespace {

using Answer = Admission::Turn::Answer;
using std::chrono::milliseconds;

class StillClock : public base::Clock {
 public:
  std::chrono::steady_clock::time_point Now() const override { return now; }
  std::chrono::system_clock::time_point WallNow() const override { return {}; }
  std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
};

// Counts its wakes, and notes what it is asked for.
class FakeCall : public rpc::Call {
 public:
  const rpc::CallInfo& info() const override { return info_; }
  const Context& context() const override { return context_; }
  void Read() override {}
  void AddHeader(std::string, std::string) override {}
  void AddTrailer(std::string, std::string) override {}
  void Write(rpc::Message) override {}
  void Finish(rpc::Status) override {}
  void FinishWith(rpc::Message) override {}
  void Offload(std::function<void()>) override {}
  rpc::Waker waker() override {
    return [this] { ++wakes; };
  }
  void WakeAfter(milliseconds delay) override { wake_after = delay; }
  void SetIdleLimit(milliseconds) override {}

  std::atomic<int> wakes = 0;
  milliseconds wake_after{0};

 private:
  rpc::CallInfo info_;
  Context context_;
};

TEST(Admission, GivesWhatIsFreeAndTakesItBack) {
  Admission admission(100);
  {
    const auto first = admission.TryTake(60);
    ASSERT_TRUE(first);
    EXPECT_FALSE(admission.TryTake(41));
    const auto second = admission.TryTake(40);
    EXPECT_TRUE(second);
    EXPECT_EQ(admission.used(), 100);
  }
  EXPECT_EQ(admission.used(), 0);
  EXPECT_EQ(admission.peak(), 100);
}

TEST(Admission, LetsOneThatIsLargerThanAllPassAlone) {
  Admission admission(100);
  auto all = admission.TryTake(1000);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->bytes(), 100);
  EXPECT_FALSE(admission.TryTake(1));
}

TEST(Admission, ALeaseCanBeSplit) {
  Admission admission(100);
  auto whole = admission.TryTake(80);
  auto part = whole->Split(30);
  EXPECT_EQ(part.bytes(), 30);
  whole->Release();
  EXPECT_EQ(admission.used(), 30);
  EXPECT_EQ(part.Split(1000).bytes(), 30);
  EXPECT_EQ(admission.used(), 0);
}

TEST(Admission, WakesWhoWaitsInTheOrderOfArrival) {
  Admission admission(100);
  auto held = admission.TryTake(100);
  FakeCall large_call, small_call;
  Admission::Turn large(admission, large_call), small(admission, small_call);
  Admission::Lease large_lease, small_lease;
  EXPECT_EQ(large.Ask(80, large_lease), Answer::kWait);
  EXPECT_EQ(small.Ask(30, small_lease), Answer::kWait);
  EXPECT_EQ(large_call.wake_after, Admission::kPatience);
  held->Release();
  EXPECT_EQ(large_call.wakes, 1);
  EXPECT_EQ(small_call.wakes, 0);
  EXPECT_EQ(large.Ask(80, large_lease), Answer::kTaken);
  EXPECT_EQ(large_call.wake_after, milliseconds(0));
  EXPECT_EQ(small.Ask(30, small_lease), Answer::kWait);
  large_lease.Release();
  EXPECT_EQ(small_call.wakes, 1);
  EXPECT_EQ(small.Ask(30, small_lease), Answer::kTaken);
}

TEST(Admission, ALittleDoesNotOvertakeAMuchThatWaits) {
  Admission admission(100);
  auto held = admission.TryTake(50);
  FakeCall call;
  Admission::Turn turn(admission, call);
  Admission::Lease lease;
  EXPECT_EQ(turn.Ask(60, lease), Answer::kWait);
  EXPECT_FALSE(admission.TryTake(1));
}

TEST(Admission, RefusesAfterItsPatience) {
  StillClock clock;
  Admission admission(100, milliseconds(5000), clock);
  const auto held = admission.TryTake(100);
  FakeCall call;
  Admission::Turn turn(admission, call);
  Admission::Lease lease;
  EXPECT_EQ(turn.Ask(1, lease), Answer::kWait);
  clock.now += milliseconds(4999);
  EXPECT_EQ(turn.Ask(1, lease), Answer::kWait);
  clock.now += milliseconds(1);
  EXPECT_EQ(turn.Ask(1, lease), Answer::kRefused);
  EXPECT_EQ(admission.waiting(), 0u);
}

TEST(Admission, ATurnThatEndsLetsTheNextPass) {
  Admission admission(100);
  const auto held = admission.TryTake(50);
  FakeCall first_call, second_call;
  auto first = std::make_unique<Admission::Turn>(admission, first_call);
  Admission::Turn second(admission, second_call);
  Admission::Lease lease;
  EXPECT_EQ(first->Ask(60, lease), Answer::kWait);
  EXPECT_EQ(second.Ask(50, lease), Answer::kWait);
  first.reset();
  EXPECT_EQ(second_call.wakes, 1);
  EXPECT_EQ(second.Ask(50, lease), Answer::kTaken);
}

TEST(Admission, ATurnThatEndsGivesBackWhatItWasGranted) {
  Admission admission(100);
  auto held = admission.TryTake(100);
  {
    FakeCall call;
    Admission::Turn turn(admission, call);
    Admission::Lease lease;
    EXPECT_EQ(turn.Ask(60, lease), Answer::kWait);
    held->Release();
    EXPECT_EQ(admission.used(), 60);
  }
  EXPECT_EQ(admission.used(), 0);
}

TEST(Admission, NeverExceedsItsCapacityNorForgetsAnybody) {
  Admission admission(1000);
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&admission, i] {
      std::mt19937 random(i);
      FakeCall call;
      for (int round = 0; round < 3000; ++round) {
        Admission::Turn turn(admission, call);
        Admission::Lease lease;
        const auto bytes = static_cast<int64_t>(random() % 700);
        const int wakes = call.wakes;
        if (turn.Ask(bytes, lease) == Answer::kTaken) continue;
        if (random() % 4 == 0) continue;  // Goes away.
        while (call.wakes == wakes) std::this_thread::yield();
        EXPECT_EQ(turn.Ask(bytes, lease), Answer::kTaken);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(admission.used(), 0);
  EXPECT_LE(admission.peak(), 1000);
}

}  // namespace
}  // namespace casemate::reapi
