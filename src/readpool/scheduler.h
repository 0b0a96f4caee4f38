// Scheduler: whose files are read next.
#pragma once

#include <cstddef>
#include <deque>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "readpool/file_reader.h"

namespace casemate::readpool {

// A call's place in the scheduler, which alone touches it.
struct Line {
  explicit Line(Job& of) : job(of) {}

  Job& job;
  std::deque<Task> ready;         // To be read, begun ones first.
  size_t blocked = 0;             // In the blocking lane.
  int active = 0;                 // Slices that readers have now.
  bool listed = false;            // In turns_ or gated_.
  std::vector<Outcome> outcomes;  // Not yet taken.
  bool waiting = false;           // The consumer waits for outcomes.
  base::CondVar changed;
};

// What a reader does in one go, and what has become of it.
struct Slice {
  Line* line = nullptr;
  std::vector<Task> tasks;
  std::vector<Outcome> outcomes;
  std::vector<Task> more;
  std::vector<Task> blocked;
  std::vector<Task> changed;
};

// Calls take turns. A turn is a handful of small files or a part of a large
// one, and costs one lock. A file whose bytes must come from the disk waits for
// them in the blocking lane and then comes back to the front of its call's
// line. The lane's threads only wait: they need no buffers, and the processors
// are shared by the readers alone, fairly, however fast the disk is.
//
// A call that has files in the lane while the lane is full gets no turn: all
// its next files would only be opened to wait as well.
class Scheduler {
 public:
  Scheduler(int readers, int lane_threads);
  ~Scheduler();  // All lines have left; readers have returned from Next.

  // For consumers. Wait returns nothing only as `ctx` says.
  void Add(Line& line, std::vector<Task> tasks) EXCLUDES(mutex_);
  std::vector<Outcome> Take(Line& line) EXCLUDES(mutex_);
  Result<std::vector<Outcome>> Wait(const Context& ctx, Line& line)
      EXCLUDES(mutex_);

  // Forgets what is queued and waits for what is being read.
  void Leave(Line& line) EXCLUDES(mutex_);

  // For readers: hands in what `slice` holds and puts in what to do next.
  // Waits for that; false once Stop was called.
  bool Next(Slice& slice) EXCLUDES(mutex_);
  void Stop() EXCLUDES(mutex_);

 private:
  struct Waiting {
    Line* line;
    Task task;
  };

  void Withdraw(Line& line) EXCLUDES(mutex_);
  void HandIn(Slice& slice) REQUIRES(mutex_);
  void Block(Line& line, std::vector<Task>& tasks) REQUIRES(mutex_);
  void Fill(Line& line, Slice& slice) REQUIRES(mutex_);
  void List(Line& line) REQUIRES(mutex_);
  bool Gated(const Line& line) const REQUIRES(mutex_);
  void Ungate() REQUIRES(mutex_);
  void WakeReader() REQUIRES(mutex_);
  void WakeLane() REQUIRES(mutex_);
  void LaneThread() EXCLUDES(mutex_);

  const size_t readers_;
  const size_t lane_size_;
  base::Mutex mutex_;
  base::CondVar ready_;
  int idle_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::deque<Line*> turns_ GUARDED_BY(mutex_);
  std::deque<Line*> gated_ GUARDED_BY(mutex_);

  base::CondVar lane_ready_;
  std::deque<Waiting> lane_ GUARDED_BY(mutex_);
  size_t blocked_ GUARDED_BY(mutex_) = 0;  // In lane_ or with a lane thread.
  size_t lane_idle_ GUARDED_BY(mutex_) = 0;
  std::vector<std::jthread> lane_threads_ GUARDED_BY(mutex_);
};

}  // namespace casemate::readpool
