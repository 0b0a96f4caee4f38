#include <pthread.h>

#include <algorithm>
#include <list>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "readpool/progress_counters.h"
#include "readpool/progress_feed.h"

namespace casemate::readpool {
namespace {

using Time = std::chrono::steady_clock::time_point;

bool Same(const Progress& a, const Progress& b) {
  return a.files_found == b.files_found && a.bytes_found == b.bytes_found &&
         a.totals_known == b.totals_known && a.files_done == b.files_done &&
         a.bytes_done == b.bytes_done &&
         a.bytes_transferred == b.bytes_transferred && a.finished == b.finished;
}

// The one place where something may throw: a listener is not ours.
void Tell(ProgressListener& listener, const Progress& progress) {
  try {
    listener.OnProgress(progress);
  } catch (...) {
  }
}

}  // namespace

// Of the threads that are in no call, one watches for the next that is due; the
// others are spare.
struct ProgressDispatch::State : std::enable_shared_from_this<State> {
  struct Channel {
    std::shared_ptr<ProgressFeed::Counters> counters;
    std::shared_ptr<ProgressListener> listener;
    Time look;  // When to look for news.
    Time free;  // When the next call may be made.
    Progress told = {};
    bool busy = false;  // In a call.

    bool finished() const { return counters->finished; }
    Time due() const { return finished() ? free : look; }
  };
  struct Thread {
    std::thread thread = {};
    bool ended = false;
  };

  State(size_t most, std::chrono::milliseconds spacing, const base::Clock& time)
      : max_threads(most), interval(spacing), clock(time) {}

  void Run(Thread& self) EXCLUDES(mutex);
  Channel* AwaitDue() REQUIRES(mutex);
  Channel* Next() REQUIRES(mutex);
  void Serve(Channel& channel) REQUIRES(mutex);
  void KeepWatch() REQUIRES(mutex);
  void Remove(Channel& channel) REQUIRES(mutex);
  bool AllEnded() const REQUIRES(mutex);

  const size_t max_threads;
  const std::chrono::milliseconds interval;
  const base::Clock& clock;  // Not touched any more once `over`.

  base::Mutex mutex;
  base::CondVar watch;  // For the thread that watches,
  base::CondVar spare;  // for the others, and
  base::CondVar ended;  // for the destructor.
  std::list<Channel> channels GUARDED_BY(mutex);
  std::list<Thread> threads GUARDED_BY(mutex);
  bool watched GUARDED_BY(mutex) = false;
  int spares GUARDED_BY(mutex) = 0;
  bool stopping GUARDED_BY(mutex) = false;  // Only last snapshots matter.
  bool over GUARDED_BY(mutex) = false;      // Nothing does.
};

void ProgressDispatch::State::Run(Thread& me) {
  base::MutexLock lock(mutex);
  while (Channel* const due = AwaitDue()) Serve(*due);
  me.ended = true;
  ended.NotifyAll();
  spare.NotifyAll();  // There may be nothing more to come for them either.
}

// Null when there is nothing more to come.
ProgressDispatch::State::Channel* ProgressDispatch::State::AwaitDue() {
  while (!over) {
    Channel* const next = Next();
    if (next == nullptr && stopping) break;
    if (next != nullptr && next->due() <= clock.Now()) return next;
    if (watched) {
      ++spares;
      spare.Wait(mutex);
      --spares;
      continue;
    }
    watched = true;
    watch.WaitUntil(mutex, next == nullptr ? Time::max()
                                           : std::chrono::steady_clock::now() +
                                                 (next->due() - clock.Now()));
    watched = false;
  }
  return nullptr;
}

ProgressDispatch::State::Channel* ProgressDispatch::State::Next() {
  Channel* next = nullptr;
  for (Channel& each : channels) {
    if (each.busy || (stopping && !each.finished())) continue;
    if (next == nullptr || each.due() < next->due()) next = &each;
  }
  return next;
}

void ProgressDispatch::State::Serve(Channel& channel) {
  const Progress progress = channel.counters->Snapshot();
  channel.look = clock.Now() + interval;
  if (Same(progress, channel.told)) return;
  channel.busy = true;
  if (channels.size() > 1) KeepWatch();
  mutex.Unlock();
  Tell(*channel.listener, progress);
  mutex.Lock();
  channel.busy = false;
  channel.told = progress;
  if (progress.finished) return Remove(channel);
  if (over) return;
  channel.look = channel.free = clock.Now() + interval;
  if (watched) watch.NotifyOne();  // It did not reckon with this one.
}

// Sees to it that somebody minds what is due now. If all threads are in calls
// and there may be no more, it is the first that returns.
void ProgressDispatch::State::KeepWatch() {
  if (watched) {
    watch.NotifyOne();
  } else if (spares > 0) {
    spare.NotifyOne();
  } else if (threads.size() < max_threads && !stopping) {
    Thread& thread = threads.emplace_back();
    thread.thread = std::thread(
        [self = shared_from_this(), &thread] { self->Run(thread); });
    pthread_setname_np(thread.thread.native_handle(), "casemate-news");
  }
}

// The listener's own end may take its time as well: outside the lock.
void ProgressDispatch::State::Remove(Channel& channel) {
  std::list<Channel> removed;
  removed.splice(
      removed.end(), channels,
      std::find_if(channels.begin(), channels.end(),
                   [&](Channel& each) { return &each == &channel; }));
  mutex.Unlock();
  removed.clear();
  mutex.Lock();
}

bool ProgressDispatch::State::AllEnded() const {
  return std::all_of(threads.begin(), threads.end(),
                     [](const Thread& each) { return each.ended; });
}

ProgressDispatch::ProgressDispatch(int max_threads,
                                   std::chrono::milliseconds interval,
                                   const base::Clock& clock,
                                   std::chrono::milliseconds patience)
    : patience_(patience),
      state_(std::make_shared<State>(static_cast<size_t>(max_threads), interval,
                                     clock)) {}

ProgressDispatch::~ProgressDispatch() {
  const Time deadline = std::chrono::steady_clock::now() + patience_;
  std::list<State::Channel> unheard;
  State& state = *state_;
  base::MutexLock lock(state.mutex);
  state.stopping = true;
  state.watch.NotifyAll();
  state.spare.NotifyAll();
  while (!state.AllEnded() && std::chrono::steady_clock::now() < deadline) {
    state.ended.WaitUntil(state.mutex, deadline);
  }
  state.over = true;
  state.watch.NotifyAll();
  state.spare.NotifyAll();
  for (State::Thread& each : state.threads) {
    each.ended ? each.thread.join() : each.thread.detach();
  }
  for (auto each = state.channels.begin(); each != state.channels.end();) {
    const auto channel = each++;
    if (!channel->busy) unheard.splice(unheard.end(), state.channels, channel);
  }
}

std::shared_ptr<ProgressFeed> ProgressDispatch::NewFeed(
    std::shared_ptr<ProgressListener> listener) {
  auto counters = std::make_shared<ProgressFeed::Counters>();
  if (listener) {
    counters->on_finish = [weak = std::weak_ptr(state_)] {
      const std::shared_ptr<State> state = weak.lock();
      if (!state) return;
      base::MutexLock lock(state->mutex);
      state->KeepWatch();
    };
    const Time now = state_->clock.Now();
    base::MutexLock lock(state_->mutex);
    state_->channels.push_back({counters, std::move(listener), now, now});
    state_->KeepWatch();
  }
  return std::shared_ptr<ProgressFeed>(new ProgressFeed(std::move(counters)));
}

}  // namespace casemate::readpool
