#include "readpool/scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace casemate::readpool {
namespace {

// One turn of small files: about a millisecond of hashing.
constexpr size_t kSliceFiles = 32;
constexpr int64_t kSliceBytes = 1 << 20;

// The disk works on all files in the lane by itself; waiting for them one after
// the other costs fewer switches of threads than each with a thread of its own.
constexpr size_t kFilesPerLaneThread = 32;

// Moves all of `from` behind what `to` has.
template <typename To, typename From>
void Append(To& to, From& from) {
  to.insert(to.end(), std::move_iterator(from.begin()),
            std::move_iterator(from.end()));
  from.clear();
}

}  // namespace

Scheduler::Scheduler(int readers, int lane_threads)
    : readers_(static_cast<size_t>(readers)),
      lane_size_(static_cast<size_t>(lane_threads)) {
  CASEMATE_CHECK(readers > 0 && lane_threads > 0);
}

Scheduler::~Scheduler() {
  std::vector<std::jthread> ending;
  base::MutexLock lock(mutex_);
  CASEMATE_CHECK(stopping_ && turns_.empty() && gated_.empty());
  ending.swap(lane_threads_);
}

void Scheduler::Add(Line& line, std::vector<Task> tasks) {
  base::MutexLock lock(mutex_);
  Append(line.ready, tasks);
  List(line);
  WakeReader();
}

std::vector<Outcome> Scheduler::Take(Line& line) {
  base::MutexLock lock(mutex_);
  return std::exchange(line.outcomes, {});
}

Result<std::vector<Outcome>> Scheduler::Wait(const Context& ctx, Line& line) {
  base::WakeOnStop wake(ctx, mutex_, line.changed);
  base::MutexLock lock(mutex_);
  while (line.outcomes.empty()) {
    if (auto ok = ctx.Check(); !ok) return std::move(ok).error();
    line.waiting = true;
    line.changed.WaitUntil(mutex_, ctx.deadline);
  }
  line.waiting = false;
  return std::exchange(line.outcomes, {});
}

void Scheduler::Leave(Line& line) {
  Withdraw(line);
  base::MutexLock lock(mutex_);
  while (line.active > 0 || line.blocked > 0) line.changed.Wait(mutex_);
}

// What it takes out ends when the lock has: that closes files.
void Scheduler::Withdraw(Line& line) {
  std::deque<Task> queued;
  std::vector<Waiting> waiting;
  base::MutexLock lock(mutex_);
  line.job.ended = true;
  std::erase(turns_, &line);
  std::erase(gated_, &line);
  line.listed = true;  // For good: it does not come back.
  queued.swap(line.ready);
  const auto mine = std::stable_partition(
      lane_.begin(), lane_.end(),
      [&](const Waiting& each) { return each.line != &line; });
  std::move(mine, lane_.end(), std::back_inserter(waiting));
  lane_.erase(mine, lane_.end());
  line.blocked -= waiting.size();
  blocked_ -= waiting.size();
  Ungate();
}

bool Scheduler::Next(Slice& slice) {
  base::MutexLock lock(mutex_);
  HandIn(slice);
  for (;;) {
    while (turns_.empty()) {
      if (stopping_) return false;
      ++idle_;
      ready_.Wait(mutex_);
      --idle_;
    }
    Line& line = *turns_.front();
    turns_.pop_front();
    line.listed = false;
    if (!Gated(line)) {
      Fill(line, slice);
      List(line);
      WakeReader();
      return true;
    }
    List(line);
  }
}

void Scheduler::Stop() {
  base::MutexLock lock(mutex_);
  stopping_ = true;
  ready_.NotifyAll();
  lane_ready_.NotifyAll();
}

void Scheduler::HandIn(Slice& slice) {
  if (slice.line == nullptr) return;
  Line& line = *std::exchange(slice.line, nullptr);
  Append(line.outcomes, slice.outcomes);
  for (Task& task : slice.more) line.ready.push_front(std::move(task));
  slice.more.clear();
  Append(line.ready, slice.changed);
  if (line.job.ended) {
    Append(line.ready, slice.blocked);  // It ends with the line.
  } else if (!slice.blocked.empty()) {
    Block(line, slice.blocked);
  }
  --line.active;
  List(line);
  if (line.job.ended || (line.waiting && !line.outcomes.empty())) {
    line.waiting = false;
    line.changed.NotifyOne();
  }
}

void Scheduler::Block(Line& line, std::vector<Task>& tasks) {
  line.blocked += tasks.size();
  blocked_ += tasks.size();
  for (Task& task : tasks) lane_.push_back({&line, std::move(task)});
  tasks.clear();
  WakeLane();
}

// While other calls wait for their turn this one's is of full length; alone, it
// leaves something to the other readers.
void Scheduler::Fill(Line& line, Slice& slice) {
  size_t files = kSliceFiles;
  if (turns_.size() < readers_) {
    files = std::clamp<size_t>(line.ready.size() / (2 * readers_), 1, files);
  }
  if (blocked_ > 0) {
    files = blocked_ < lane_size_ ? std::min(files, lane_size_ - blocked_) : 1;
  }
  int64_t bytes = 0;
  while (!line.ready.empty() && files-- > 0 && bytes < kSliceBytes) {
    bytes += std::min(line.ready.front().request.expected.size, kSliceBytes);
    slice.tasks.push_back(std::move(line.ready.front()));
    line.ready.pop_front();
  }
  slice.line = &line;
  ++line.active;
}

void Scheduler::List(Line& line) {
  if (line.listed || line.ready.empty()) return;
  line.listed = true;
  (Gated(line) ? gated_ : turns_).push_back(&line);
}

bool Scheduler::Gated(const Line& line) const {
  return blocked_ >= lane_size_ && line.blocked > 0;
}

// After the lane has become less full.
void Scheduler::Ungate() {
  Append(turns_, gated_);
  WakeReader();
}

// Each reader that takes a turn does the same, so that one call is enough.
void Scheduler::WakeReader() {
  if (idle_ > 0 && !turns_.empty()) ready_.NotifyOne();
}

// Wakes a thread or starts one, if there are too few; each wakes the next.
void Scheduler::WakeLane() {
  const size_t working = lane_threads_.size() - lane_idle_;
  if (working * kFilesPerLaneThread >= blocked_) return;
  if (lane_idle_ > 0) {
    lane_ready_.NotifyOne();
  } else if (lane_threads_.size() < lane_size_) {
    lane_threads_.emplace_back([this] { LaneThread(); });
    pthread_setname_np(lane_threads_.back().native_handle(), "casemate-disk");
  }
}

void Scheduler::LaneThread() {
  Waiting waiting{};
  for (;;) {
    {
      base::MutexLock lock(mutex_);
      while (lane_.empty()) {
        if (stopping_) return;
        ++lane_idle_;
        lane_ready_.Wait(mutex_);
        --lane_idle_;
      }
      waiting = std::move(lane_.front());
      lane_.pop_front();
      if (!lane_.empty()) WakeLane();
    }
    AwaitDisk(waiting.task);
    base::MutexLock lock(mutex_);
    Line& line = *waiting.line;
    line.ready.push_front(std::move(waiting.task));
    --line.blocked;
    --blocked_;
    List(line);
    Ungate();
    if (line.job.ended) line.changed.NotifyOne();
  }
}

}  // namespace casemate::readpool
