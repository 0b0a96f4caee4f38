#include "work/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace casemate::work {
namespace {

TEST(Pool, RunsTasksInTheOrderGiven) {
  std::vector<int> order;
  {
    Pool pool("test", 1);
    for (int i = 0; i < 5; ++i) pool.Run([&order, i] { order.push_back(i); });
  }
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

TEST(Pool, ItsEndRunsWhatIsQueued) {
  std::atomic<int> ran = 0;
  {
    Pool pool("test", 2);
    for (int i = 0; i < 100; ++i) pool.Run([&] { ++ran; });
  }
  EXPECT_EQ(ran, 100);
}

TEST(Pool, RunsAsManyAtOnceAsItHasThreads) {
  Pool pool("test", 3);
  std::latch all(3);
  std::latch done(3);
  for (int i = 0; i < 3; ++i) {
    pool.Run([&] {
      all.arrive_and_wait();  // Hangs unless three run at once.
      done.count_down();
    });
  }
  done.wait();
}

TEST(TaskGroup, WaitsForAllOfItsFunctions) {
  Pool pool("test", 2);
  std::atomic<int> ran = 0;
  TaskGroup group({}, pool, 4);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(group.Add([&](const Context&) -> Result<void> {
      ++ran;
      return {};
    }));
  }
  EXPECT_TRUE(group.Wait());
  EXPECT_EQ(ran, 50);
}

TEST(TaskGroup, TheFirstErrorStopsTheOthersAndIsTheResult) {
  Pool pool("test", 2);
  TaskGroup group({}, pool, 2);
  std::latch started(1);
  ASSERT_TRUE(group.Add([&](const Context& ctx) -> Result<void> {
    started.count_down();
    while (ctx.Check()) std::this_thread::yield();
    return ctx.Check();
  }));
  started.wait();
  ASSERT_TRUE(group.Add([](const Context&) -> Result<void> {
    return Error{Code::kDataLoss, "broken"};
  }));
  EXPECT_EQ(group.Wait().error().code, Code::kDataLoss);
}

TEST(TaskGroup, RunsNothingMoreOnceItHasFailed) {
  Pool pool("test", 1);
  TaskGroup group({}, pool, 1);
  ASSERT_TRUE(group.Add([](const Context&) -> Result<void> {
    return Error{Code::kDataLoss, "broken"};
  }));
  EXPECT_FALSE(group.Wait());
  const auto added = group.Add([](const Context&) -> Result<void> {
    ADD_FAILURE() << "must not run";
    return {};
  });
  EXPECT_EQ(added.error().code, Code::kDataLoss);
}

TEST(TaskGroup, DoesNotRunWhatWasQueuedWhenItFailed) {
  Pool pool("test", 1);
  TaskGroup group({}, pool, 2);
  std::latch queued(1);
  ASSERT_TRUE(group.Add([&](const Context&) -> Result<void> {
    queued.wait();
    return Error{Code::kDataLoss, "broken"};
  }));
  ASSERT_TRUE(group.Add([](const Context&) -> Result<void> {
    ADD_FAILURE() << "must not run";
    return {};
  }));
  queued.count_down();
  EXPECT_EQ(group.Wait().error().code, Code::kDataLoss);
}

TEST(TaskGroup, HasAtMostItsWidthUnderWay) {
  Pool pool("test", 4);
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  TaskGroup group({}, pool, 2);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(group.Add([&](const Context&) -> Result<void> {
      const int mine = ++now;
      for (int seen = most;
           seen < mine && !most.compare_exchange_weak(seen, mine);) {
      }
      --now;
      return {};
    }));
  }
  EXPECT_TRUE(group.Wait());
  EXPECT_LE(most, 2);
}

TEST(TaskGroup, StopsWithTheOuterContextAlsoWhileAddWaits) {
  Pool pool("test", 1);
  std::stop_source source;
  TaskGroup group({.stop = source.get_token()}, pool, 1);
  ASSERT_TRUE(group.Add([&](const Context& ctx) -> Result<void> {
    source.request_stop();
    EXPECT_EQ(ctx.Check().error().code, Code::kCancelled);
    return {};
  }));
  const auto added = group.Add([](const Context&) -> Result<void> {
    ADD_FAILURE() << "must not run";
    return {};
  });
  EXPECT_TRUE(added || added.error().code == Code::kCancelled);
  EXPECT_EQ(group.Wait().error().code, Code::kCancelled);
}

TEST(TaskGroup, ItsEndWaitsForWhatRuns) {
  Pool pool("test", 2);
  std::atomic<bool> ran = false;
  std::latch started(1);
  {
    TaskGroup group({}, pool, 1);
    ASSERT_TRUE(group.Add([&](const Context&) -> Result<void> {
      started.count_down();
      ran = true;
      return {};
    }));
  }
  EXPECT_TRUE(ran);
}

TEST(TaskGroup, LetsGoOfWhatAFunctionHoldsBeforeItEnds) {
  Pool pool("test", 2);
  for (int turn = 0; turn < 200; ++turn) {
    auto held = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = held;
    TaskGroup group({}, pool, 1);
    ASSERT_TRUE(group.Add([held = std::move(held)](
                              const Context&) -> Result<void> { return {}; }));
    ASSERT_TRUE(group.Wait());
    EXPECT_TRUE(watch.expired());
  }
}

}  // namespace
}  // namespace casemate::work
