#include "work/group_commit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>

namespace casemate::work {
namespace {

struct Item {
  int value = 0;
  int committed = 0;  // How often.
};
using Group = std::vector<int>;

// A commit that is held up until Open, and remembers the groups it was given.
class Gate {
 public:
  void Commit(std::span<Item* const> items) EXCLUDES(mutex_) {
    Group group;
    for (Item* const item : items) {
      ++item->committed;
      group.push_back(item->value);
    }
    base::MutexLock lock(mutex_);
    groups_.push_back(group);
    ++entered_;
    changed_.NotifyAll();
    while (!open_) changed_.Wait(mutex_);
  }
  void AwaitEntered(int count) EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    while (entered_ < count) changed_.Wait(mutex_);
  }
  void Open() EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }
  std::vector<Group> groups() EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    return groups_;
  }

 private:
  base::Mutex mutex_;
  base::CondVar changed_;
  std::vector<Group> groups_ GUARDED_BY(mutex_);
  int entered_ GUARDED_BY(mutex_) = 0;
  bool open_ GUARDED_BY(mutex_) = false;
};

// Callers that arrive one after the other, each on a thread of its own.
class Crowd {
 public:
  explicit Crowd(GroupCommitOptions options)
      : commit_(options, [this](auto items) { gate_.Commit(items); }) {}
  ~Crowd() { gate_.Open(); }

  // Takes all slots, so that whoever comes next must wait.
  void Occupy(int slots) {
    for (int i = 1; i <= slots; ++i) {
      Start(0);
      gate_.AwaitEntered(i);
    }
  }
  void Arrive(int value, int64_t weight = 1, Context ctx = {},
              Code expected = Code::kOk) {
    const size_t before = commit_.waiting();
    Start(value, weight, ctx, expected);
    while (commit_.waiting() == before) std::this_thread::yield();
  }
  std::vector<Group> Finish() {
    gate_.Open();
    threads_.clear();
    return gate_.groups();
  }
  GroupCommit<Item>& commit() { return commit_; }

 private:
  void Start(int value, int64_t weight = 1, Context ctx = {},
             Code expected = Code::kOk) {
    threads_.emplace_back([=, this] {
      Item item{value};
      const auto result = commit_.Run(ctx, item, weight);
      EXPECT_EQ(result ? Code::kOk : result.error().code, expected);
      EXPECT_EQ(item.committed, result ? 1 : 0);
    });
  }

  Gate gate_;
  GroupCommit<Item> commit_;
  std::vector<std::jthread> threads_;
};

TEST(GroupCommit, ALoneCallerLeavesAtOnceOnItsOwnThread) {
  std::thread::id ran_on;
  GroupCommit<Item> commit({}, [&](std::span<Item* const> items) {
    EXPECT_EQ(items.size(), 1u);
    ran_on = std::this_thread::get_id();
  });
  Item item;
  EXPECT_TRUE(commit.Run({}, item));
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(GroupCommit, ArrivalsGatherWhileTheSlotIsBusyAndLeaveTogether) {
  Crowd crowd({});
  crowd.Occupy(1);
  for (int value : {1, 2, 3}) crowd.Arrive(value);
  EXPECT_EQ(crowd.Finish(), (std::vector<Group>{{0}, {1, 2, 3}}));
}

TEST(GroupCommit, EachSlotCarriesAGroupAtOnce) {
  Crowd crowd({.slots = 2});
  crowd.Occupy(2);  // Hangs unless both run at once.
  crowd.Arrive(1);
  EXPECT_EQ(crowd.Finish(), (std::vector<Group>{{0}, {0}, {1}}));
}

TEST(GroupCommit, AGroupHasAtMostMaxItems) {
  Crowd crowd({.max_items = 2});
  crowd.Occupy(1);
  for (int value : {1, 2, 3}) crowd.Arrive(value);
  EXPECT_EQ(crowd.Finish(), (std::vector<Group>{{0}, {1, 2}, {3}}));
}

TEST(GroupCommit, AGroupWeighsAtMostMaxWeightAndKeepsTheOrder) {
  Crowd crowd({.max_weight = 10});
  crowd.Occupy(1);
  crowd.Arrive(1, 6);
  crowd.Arrive(2, 4);
  crowd.Arrive(3, 5);
  crowd.Arrive(4, 6);  // Must not be overtaken by 5.
  crowd.Arrive(5, 1);
  EXPECT_EQ(crowd.Finish(), (std::vector<Group>{{0}, {1, 2}, {3}, {4, 5}}));
}

TEST(GroupCommit, AnItemAboveMaxWeightLeavesAlone) {
  Crowd crowd({.max_weight = 10});
  crowd.Occupy(1);
  crowd.Arrive(1, 1);
  crowd.Arrive(2, 99);
  crowd.Arrive(3, 1);
  EXPECT_EQ(crowd.Finish(), (std::vector<Group>{{0}, {1}, {2}, {3}}));
}

TEST(GroupCommit, AStoppedCallIsWithdrawn) {
  std::stop_source source;
  Crowd crowd({});
  crowd.Occupy(1);
  crowd.Arrive(1);
  crowd.Arrive(2, 1, {.stop = source.get_token()}, Code::kCancelled);
  source.request_stop();
  while (crowd.commit().waiting() == 2) std::this_thread::yield();
  EXPECT_EQ(crowd.Finish(), (std::vector<Group>{{0}, {1}}));
}

TEST(GroupCommit, ACallThatIsStoppedBeforeItStartsDoesNotRun) {
  std::stop_source source;
  source.request_stop();
  GroupCommit<Item> commit({}, [](auto) { ADD_FAILURE() << "must not run"; });
  Item item;
  EXPECT_EQ(commit.Run({.stop = source.get_token()}, item).error().code,
            Code::kCancelled);
}

TEST(GroupCommit, ACallThatHasLeftIsWaitedForThoughItIsStopped) {
  std::stop_source source;
  std::atomic<bool> done = false;
  GroupCommit<Item> commit({}, [&](auto) {
    source.request_stop();
    done = true;
  });
  Item item;
  EXPECT_TRUE(commit.Run({.stop = source.get_token()}, item));
  EXPECT_TRUE(done);
}

// The stop request races the hand-over of the slot to the one that is stopped:
// whichever wins, the slot must come to the other.
TEST(GroupCommit, AStoppedLeaderPassesTheSlotOn) {
  for (int turn = 0; turn < 300; ++turn) {
    std::stop_source source;
    std::latch entered(1), leave(1);
    GroupCommit<Item> commit({}, [&](std::span<Item* const> items) {
      if (items.front()->value != 0) return;
      entered.count_down();
      leave.wait();
    });
    const auto run = [&](int value, Context ctx) {
      return std::jthread([&commit, value, ctx] {
        Item item{value};
        (void)commit.Run(ctx, item);
      });
    };
    const std::jthread busy = run(0, {});
    entered.wait();
    const std::jthread stopped = run(1, {.stop = source.get_token()});
    while (commit.waiting() < 1) std::this_thread::yield();
    const std::jthread other = run(2, {});
    while (commit.waiting() < 2) std::this_thread::yield();
    std::jthread stopper([&] { source.request_stop(); });
    leave.count_down();
  }
}

TEST(GroupCommit, CountsGroupsAndItems) {
  Crowd crowd({});
  crowd.Occupy(1);
  for (int value : {1, 2, 3}) crowd.Arrive(value);
  crowd.Finish();
  const auto counters = crowd.commit().counters();
  EXPECT_EQ(counters.groups, 2);
  EXPECT_EQ(counters.items, 4);
  EXPECT_EQ(counters.most_waiting, 3u);
}

TEST(GroupCommit, CommitsEveryItemOnceUnderManyThreadsAndStops) {
  std::atomic<int> running = 0;
  GroupCommit<Item> commit({.slots = 2, .max_items = 3},
                           [&](std::span<Item* const> items) {
                             EXPECT_LE(++running, 2);
                             for (Item* item : items) ++item->committed;
                             --running;
                           });
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < 300; ++turn) {
        std::stop_source source;
        Item item;
        std::jthread stopper;
        if (turn % 8 == i)
          stopper = std::jthread([&] { source.request_stop(); });
        const auto result = commit.Run({.stop = source.get_token()}, item);
        EXPECT_EQ(item.committed, result ? 1 : 0);
      }
    });
  }
}

}  // namespace
}  // namespace casemate::work
