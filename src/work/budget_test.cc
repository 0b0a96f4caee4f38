#include "work/budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace casemate::work {
namespace {

Lease MustAcquire(Budget& budget, int64_t amount) {
  auto lease = budget.Acquire({}, amount);
  EXPECT_TRUE(lease);
  return std::move(*lease);
}

void AwaitWaiting(const Budget& budget, size_t count) {
  while (budget.waiting() != count) std::this_thread::yield();
}

TEST(Budget, ALeaseReturnsWhatItTook) {
  Budget budget(10);
  {
    const Lease lease = MustAcquire(budget, 7);
    EXPECT_EQ(lease.amount(), 7);
    EXPECT_EQ(budget.used(), 7);
  }
  EXPECT_EQ(budget.used(), 0);
  EXPECT_EQ(budget.peak(), 7);
}

TEST(Budget, TryAcquireDoesNotWait) {
  Budget budget(10);
  const Lease most = MustAcquire(budget, 7);
  EXPECT_EQ(budget.TryAcquire(4).amount(), 0);
  EXPECT_EQ(budget.TryAcquire(3).amount(), 3);
}

TEST(Budget, MoreThanAllPassesAlone) {
  Budget budget(10);
  const Lease giant = MustAcquire(budget, 1000);
  EXPECT_EQ(giant.amount(), 10);
  EXPECT_EQ(budget.TryAcquire(1).amount(), 0);
}

TEST(Budget, AMovedLeaseReturnsOnce) {
  Budget budget(10);
  Lease first = MustAcquire(budget, 4);
  Lease second = std::move(first);
  first.Release();
  EXPECT_EQ(budget.used(), 4);
  second = MustAcquire(budget, 5);  // Lets go of the 4.
  EXPECT_EQ(budget.used(), 5);
}

TEST(Budget, LeasesSplitMergeAndShrinkWithoutLosingAnything) {
  Budget budget(10);
  Lease whole = MustAcquire(budget, 10);
  Lease part = whole.Split(3);
  EXPECT_EQ(whole.amount(), 7);
  EXPECT_EQ(budget.used(), 10);
  whole.Merge(std::move(part));
  EXPECT_EQ(whole.amount(), 10);
  whole.ShrinkTo(2);
  EXPECT_EQ(budget.used(), 2);
  EXPECT_EQ(whole.Split(5).amount(), 2);  // All there is.
  EXPECT_EQ(budget.used(), 0);
}

TEST(Budget, AnEmptyLeaseTakesInAnother) {
  Budget budget(10);
  Lease sum;
  sum.Merge(MustAcquire(budget, 3));
  EXPECT_EQ(sum.amount(), 3);
  EXPECT_EQ(budget.used(), 3);
}

TEST(Budget, ALargeRequestIsNotOvertakenBySmallOnes) {
  Budget budget(10);
  Lease held = MustAcquire(budget, 5);
  std::atomic<int> next = 0;
  int large_turn = -1, small_turn = -1;
  std::jthread large([&] {
    const Lease lease = MustAcquire(budget, 10);
    large_turn = next++;
  });
  AwaitWaiting(budget, 1);
  std::jthread small([&] {
    const Lease lease = MustAcquire(budget, 1);
    small_turn = next++;
  });
  AwaitWaiting(budget, 2);
  EXPECT_EQ(budget.TryAcquire(1).amount(), 0);
  held.Release();
  large.join();
  small.join();
  EXPECT_EQ(large_turn, 0);
  EXPECT_EQ(small_turn, 1);
}

TEST(Budget, AWaitEndsWhenItIsStopped) {
  Budget budget(10);
  const Lease held = MustAcquire(budget, 10);
  std::stop_source source;
  std::jthread stopper([&] {
    AwaitWaiting(budget, 1);
    source.request_stop();
  });
  const auto lease = budget.Acquire({.stop = source.get_token()}, 1);
  EXPECT_EQ(lease.error().code, Code::kCancelled);
  EXPECT_EQ(budget.waiting(), 0u);
}

TEST(Budget, AWaitEndsAtTheDeadline) {
  Budget budget(10);
  const Lease held = MustAcquire(budget, 10);
  Context ctx;
  ctx.deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  EXPECT_EQ(budget.Acquire(ctx, 1).error().code, Code::kDeadlineExceeded);
}

TEST(Budget, WhoWaitedBehindACancelledRequestGetsItsTurn) {
  Budget budget(10);
  const Lease held = MustAcquire(budget, 5);
  std::stop_source source;
  std::jthread large(
      [&] { EXPECT_FALSE(budget.Acquire({.stop = source.get_token()}, 10)); });
  AwaitWaiting(budget, 1);
  std::jthread small([&] { MustAcquire(budget, 5); });
  AwaitWaiting(budget, 2);
  source.request_stop();
  small.join();  // Though nothing was returned.
}

TEST(Budget, NeverExceedsItsCapacity) {
  Budget budget(10);
  std::atomic<int64_t> used = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < 500; ++turn) {
        const Lease lease = MustAcquire(budget, 1 + (i + turn) % 7);
        EXPECT_LE(used += lease.amount(), 10);
        used -= lease.amount();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(budget.used(), 0);
  EXPECT_LE(budget.peak(), 10);
}

}  // namespace
}  // namespace casemate::work
