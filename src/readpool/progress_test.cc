#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "readpool/progress_feed.h"

namespace casemate::readpool {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::steady_clock::time_point;

// Stands still until it is moved, and counts how often it is looked at.
class FakeClock : public base::Clock {
 public:
  Time Now() const override {
    ++looks_;
    return Time(milliseconds(now_));
  }
  std::chrono::system_clock::time_point WallNow() const override { return {}; }

  void Advance(milliseconds by) { now_ += by.count(); }
  void AwaitLooks(int count) const {
    const int until = looks_ + count;
    while (looks_ < until) std::this_thread::yield();
  }

 private:
  std::atomic<int64_t> now_ = 1000;
  mutable std::atomic<int> looks_ = 0;
};

// Remembers what it is told.
class Recorder : public ProgressListener {
 public:
  void OnProgress(const Progress& progress) override {
    base::MutexLock lock(mutex_);
    told_.push_back(progress);
    changed_.NotifyAll();
  }
  std::vector<Progress> AwaitFinished() {
    base::MutexLock lock(mutex_);
    while (told_.empty() || !told_.back().finished) changed_.Wait(mutex_);
    return told_;
  }
  void AwaitCalls(size_t count) {
    base::MutexLock lock(mutex_);
    while (told_.size() < count) changed_.Wait(mutex_);
  }
  size_t calls() {
    base::MutexLock lock(mutex_);
    return told_.size();
  }

 private:
  base::Mutex mutex_;
  base::CondVar changed_;
  std::vector<Progress> told_ GUARDED_BY(mutex_);
};

// Stays in its first call until it is let go.
class Blocker : public Recorder {
 public:
  void OnProgress(const Progress& progress) override {
    if (!entered_.exchange(true)) {
      in_.count_down();
      out_.wait();
    }
    Recorder::OnProgress(progress);
  }
  void AwaitEntered() { in_.wait(); }
  void LetGo() { out_.count_down(); }

 private:
  std::atomic<bool> entered_ = false;
  std::latch in_{1};
  std::latch out_{1};
};

// The dispatch may have looked in vain just before there was news.
void AdvanceUntilCalled(FakeClock& clock, Recorder& listener) {
  while (listener.calls() == 0) {
    clock.Advance(milliseconds(1));
    std::this_thread::yield();
  }
}

TEST(ProgressFeed, AddsUpWhatItIsTold) {
  ProgressDispatch dispatch;
  const auto feed = dispatch.NewFeed(nullptr);
  feed->AddFound(3, 300);
  feed->SetTotalsKnown();
  feed->AddDone(2, 200);
  feed->AddTransferred(50);
  const Progress progress = feed->Snapshot();
  EXPECT_EQ(progress.files_found, 3);
  EXPECT_EQ(progress.bytes_found, 300);
  EXPECT_TRUE(progress.totals_known);
  EXPECT_EQ(progress.files_done, 2);
  EXPECT_EQ(progress.bytes_done, 200);
  EXPECT_EQ(progress.bytes_transferred, 50);
  EXPECT_FALSE(progress.finished);
}

TEST(ProgressFeed, LosesNothingWhenManyThreadsAdd) {
  ProgressDispatch dispatch;
  const auto feed = dispatch.NewFeed(nullptr);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) feed->AddDone(1, 2);
    });
  }
  threads.clear();
  EXPECT_EQ(feed->Snapshot().files_done, 4000);
  EXPECT_EQ(feed->Snapshot().bytes_done, 8000);
}

TEST(ProgressDispatch, TellsTheLastSnapshotExactlyOnce) {
  const auto listener = std::make_shared<Recorder>();
  ProgressDispatch dispatch(4, milliseconds(1));
  const auto feed = dispatch.NewFeed(listener);
  feed->AddDone(1, 10);
  feed->Finish();
  feed->Finish();
  const auto told = listener->AwaitFinished();
  EXPECT_EQ(told.back().bytes_done, 10);
  EXPECT_EQ(std::ranges::count_if(told, &Progress::finished), 1);
}

TEST(ProgressDispatch, TellsNewsBeforeTheEnd) {
  const auto listener = std::make_shared<Recorder>();
  ProgressDispatch dispatch(4, milliseconds(1));
  const auto feed = dispatch.NewFeed(listener);
  for (size_t i = 1; i <= 3; ++i) {
    feed->AddDone(1, 10);
    listener->AwaitCalls(i);
  }
}

TEST(ProgressDispatch, SaysNothingWithoutNews) {
  const auto listener = std::make_shared<Recorder>();
  FakeClock clock;
  ProgressDispatch dispatch(4, milliseconds(1), clock);
  const auto feed = dispatch.NewFeed(listener);
  feed->AddDone(1, 10);
  AdvanceUntilCalled(clock, *listener);
  for (int i = 0; i < 5; ++i) {
    clock.Advance(milliseconds(10));
    clock.AwaitLooks(3);
  }
  EXPECT_EQ(listener->calls(), 1u);
}

TEST(ProgressDispatch, CallsAListenerOnceInTheInterval) {
  class Timed : public Recorder {
   public:
    explicit Timed(const FakeClock& clock) : clock_(clock) {}
    void OnProgress(const Progress& progress) override {
      if (!progress.finished) times.push_back(clock_.Now());
      Recorder::OnProgress(progress);
    }
    std::vector<Time> times;

   private:
    const FakeClock& clock_;
  };
  FakeClock clock;
  const auto listener = std::make_shared<Timed>(clock);
  ProgressDispatch dispatch(4, milliseconds(5), clock);
  const auto feed = dispatch.NewFeed(listener);
  while (listener->calls() < 5) {
    feed->AddDone(1, 10);  // There is always news.
    clock.Advance(milliseconds(1));
    clock.AwaitLooks(3);
  }
  clock.AwaitLooks(3);  // The last call is over.
  feed->Finish();
  clock.Advance(milliseconds(5));
  listener->AwaitFinished();
  for (size_t i = 1; i < listener->times.size(); ++i) {
    EXPECT_GE(listener->times[i] - listener->times[i - 1], milliseconds(5));
  }
}

TEST(ProgressDispatch, TheLastSnapshotDoesNotWaitLonger) {
  const auto listener = std::make_shared<Recorder>();
  FakeClock clock;
  ProgressDispatch dispatch(4, milliseconds(5), clock);
  const auto feed = dispatch.NewFeed(listener);
  feed->AddDone(1, 10);
  AdvanceUntilCalled(clock, *listener);
  clock.AwaitLooks(3);
  clock.Advance(milliseconds(5));
  clock.AwaitLooks(3);  // In vain, and so not again before its time,
  feed->AddDone(1, 10);
  feed->Finish();  // but for this.
  EXPECT_EQ(listener->AwaitFinished().back().bytes_done, 20);
}

TEST(ProgressDispatch, ABlockedListenerHoldsUpNeitherFeedNorOthers) {
  const auto blocked = std::make_shared<Blocker>();
  const auto other = std::make_shared<Recorder>();
  ProgressDispatch dispatch(2, milliseconds(1));
  const auto first = dispatch.NewFeed(blocked);
  first->AddDone(1, 10);
  blocked->AwaitEntered();
  first->AddDone(1, 10);
  first->Finish();  // Returns.
  const auto second = dispatch.NewFeed(other);
  second->AddDone(1, 10);
  second->Finish();
  EXPECT_EQ(other->AwaitFinished().back().bytes_done, 10);
  blocked->LetGo();
  EXPECT_EQ(blocked->AwaitFinished().back().bytes_done, 20);
}

TEST(ProgressDispatch, OthersAreServedWhichCameBeforeOneBlocked) {
  const auto blocked = std::make_shared<Blocker>();
  const auto other = std::make_shared<Recorder>();
  ProgressDispatch dispatch(2, milliseconds(1));
  const auto first = dispatch.NewFeed(blocked);
  const auto second = dispatch.NewFeed(other);
  first->AddDone(1, 10);
  blocked->AwaitEntered();
  second->AddDone(1, 10);
  second->Finish();
  other->AwaitFinished();
  blocked->LetGo();
}

TEST(ProgressDispatch, AListenerThatThrowsHarmsNobody) {
  class Thrower : public Recorder {
   public:
    void OnProgress(const Progress& progress) override {
      Recorder::OnProgress(progress);
      throw std::runtime_error("out of order");
    }
  };
  const auto thrower = std::make_shared<Thrower>();
  const auto other = std::make_shared<Recorder>();
  ProgressDispatch dispatch(1, milliseconds(1));
  const auto first = dispatch.NewFeed(thrower);
  const auto second = dispatch.NewFeed(other);
  first->AddDone(1, 10);
  thrower->AwaitCalls(1);
  first->Finish();
  second->Finish();
  EXPECT_EQ(thrower->AwaitFinished().size(), 2u);
  other->AwaitFinished();
}

TEST(ProgressDispatch, CallsToOneListenerNeverOverlap) {
  class Counting : public Recorder {
   public:
    void OnProgress(const Progress& progress) override {
      EXPECT_EQ(++inside_, 1);
      Recorder::OnProgress(progress);
      --inside_;
    }

   private:
    std::atomic<int> inside_ = 0;
  };
  ProgressDispatch dispatch(4, milliseconds(0));
  std::vector<std::jthread> transfers;
  for (int i = 0; i < 6; ++i) {
    transfers.emplace_back([&] {
      const auto listener = std::make_shared<Counting>();
      const auto feed = dispatch.NewFeed(listener);
      for (int n = 0; n < 2000; ++n) feed->AddDone(1, 1);
      feed->Finish();
      EXPECT_EQ(listener->AwaitFinished().back().files_done, 2000);
    });
  }
}

TEST(ProgressDispatch, AFeedThatGoesAwayIsFinished) {
  const auto listener = std::make_shared<Recorder>();
  ProgressDispatch dispatch(4, milliseconds(1));
  dispatch.NewFeed(listener)->AddDone(1, 10);
  EXPECT_EQ(listener->AwaitFinished().back().bytes_done, 10);
}

TEST(ProgressDispatch, ItsEndDeliversWhatIsDue) {
  const auto listener = std::make_shared<Recorder>();
  {
    ProgressDispatch dispatch;
    const auto feed = dispatch.NewFeed(listener);
    feed->AddDone(1, 10);
    listener->AwaitCalls(1);
    feed->Finish();
  }
  EXPECT_EQ(listener->calls(), 2u);
  EXPECT_TRUE(listener->AwaitFinished().back().finished);
}

TEST(ProgressDispatch, ItsEndWaitsForAListenerThatIsStillBusy) {
  const auto blocked = std::make_shared<Blocker>();
  std::jthread let_go;
  {
    ProgressDispatch dispatch(4, milliseconds(1), base::SystemClock(),
                              std::chrono::hours(1));
    dispatch.NewFeed(blocked)->AddDone(1, 10);
    blocked->AwaitEntered();
    let_go = std::jthread([&] { blocked->LetGo(); });
  }
  EXPECT_TRUE(blocked->AwaitFinished().back().finished);
}

TEST(ProgressDispatch, ItsEndGivesUpAListenerThatBlocksForEver) {
  struct Mourned : Blocker {
    explicit Mourned(std::latch& end) : ended(end) {}
    ~Mourned() override { ended.count_down(); }
    std::latch& ended;
  };
  std::latch ended(1);
  auto owned = std::make_shared<Mourned>(ended);
  Mourned* const blocked = owned.get();
  {
    ProgressDispatch dispatch(4, milliseconds(1), base::SystemClock(),
                              milliseconds(1));
    const auto feed = dispatch.NewFeed(std::move(owned));
    feed->AddDone(1, 10);
    blocked->AwaitEntered();
  }
  blocked->LetGo();  // The thread that was left behind ends in good order.
  ended.wait();
}

TEST(ProgressDispatch, AFeedMayOutliveIt) {
  std::shared_ptr<ProgressFeed> feed;
  {
    ProgressDispatch dispatch;
    feed = dispatch.NewFeed(std::make_shared<Recorder>());
  }
  feed->AddDone(1, 10);
  feed->Finish();
  EXPECT_TRUE(feed->Snapshot().finished);
}

}  // namespace
}  // namespace casemate::readpool
