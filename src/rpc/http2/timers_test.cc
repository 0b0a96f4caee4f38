#include "rpc/http2/timers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <random>

namespace casemate::rpc::http2 {
namespace {

Time At(int ms) { return Time(std::chrono::milliseconds(ms)); }

class Noting final : public Timer {
 public:
  Noting(std::vector<int>& notes, int name) : notes_(notes), name_(name) {}
  void OnTime() override {
    notes_.push_back(name_);
    if (then) then();
  }
  std::function<void()> then;

 private:
  std::vector<int>& notes_;
  const int name_;
};

class TimersTest : public ::testing::Test {
 protected:
  std::vector<int> notes_;
  Noting a_{notes_, 1}, b_{notes_, 2}, c_{notes_, 3};
  Timers timers_;
};

TEST_F(TimersTest, RunInTheOrderOfTheirTimes) {
  timers_.Set(a_, At(30));
  timers_.Set(b_, At(10));
  timers_.Set(c_, At(20));
  EXPECT_EQ(timers_.next(), At(10));
  timers_.Run(At(20));
  EXPECT_EQ(notes_, (std::vector<int>{2, 3}));
  timers_.Run(At(30));
  EXPECT_EQ(notes_.back(), 1);
  EXPECT_EQ(timers_.next(), Time::max());
}

TEST_F(TimersTest, AClearedOneDoesNotRun) {
  timers_.Set(a_, At(1));
  timers_.Set(b_, At(2));
  timers_.Clear(a_);
  timers_.Clear(a_);
  timers_.Run(At(9));
  EXPECT_EQ(notes_, (std::vector<int>{2}));
}

TEST_F(TimersTest, SettingAgainMovesIt) {
  timers_.Set(a_, At(1));
  timers_.Set(b_, At(5));
  timers_.Set(a_, At(9));
  timers_.Run(At(5));
  EXPECT_EQ(notes_, (std::vector<int>{2}));
  timers_.Set(a_, At(6));
  timers_.Run(At(6));
  EXPECT_EQ(notes_.back(), 1);
}

TEST_F(TimersTest, OneThatRunsMaySetItselfAndClearOthers) {
  a_.then = [this] {
    timers_.Clear(b_);
    if (notes_.size() < 3) timers_.Set(a_, At(1));
  };
  timers_.Set(a_, At(1));
  timers_.Set(b_, At(1));
  timers_.Run(At(1));
  EXPECT_EQ(notes_, (std::vector<int>{1, 1, 1}));
}

TEST_F(TimersTest, KeepTheirOrderThroughManyChanges) {
  std::mt19937 random(7);
  std::deque<Noting> many;
  for (int i = 0; i < 300; ++i) many.emplace_back(notes_, i);
  std::vector<int> due(many.size(), -1);
  for (int step = 0; step < 5000; ++step) {
    const size_t which = random() % many.size();
    due[which] = random() % 3 == 0 ? -1 : static_cast<int>(random() % 1000);
    if (due[which] < 0) timers_.Clear(many[which]);
    if (due[which] >= 0) timers_.Set(many[which], At(due[which]));
  }
  timers_.Run(At(1000));
  for (size_t i = 1; i < notes_.size(); ++i) {
    EXPECT_LE(due[static_cast<size_t>(notes_[i - 1])],
              due[static_cast<size_t>(notes_[i])]);
  }
  EXPECT_EQ(notes_.size(), due.size() - static_cast<size_t>(std::count(
                                            due.begin(), due.end(), -1)));
}

}  // namespace
}  // namespace casemate::rpc::http2
