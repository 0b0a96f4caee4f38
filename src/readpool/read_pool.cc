#include "readpool/read_pool.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "readpool/file_reader.h"
#include "readpool/scheduler.h"

namespace casemate::readpool {
namespace {

constexpr int64_t kLeastBuffer = 16 << 10;

int Readers(const ReadPoolOptions& options) {
  if (options.readers > 0) return options.readers;
  return std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
}

// Buffers of the size wished for, or of half of it, and so on: they take at
// most a quarter of the budget, unless that is too little for the least.
work::Lease TakeBuffers(work::Budget& budget, int readers, int64_t wish) {
  for (int64_t size = wish; size > kLeastBuffer; size /= 2) {
    if (size * readers > budget.capacity() / 4) continue;
    work::Lease lease = budget.TryAcquire(size * readers);
    if (lease.amount() > 0) return lease;
  }
  return budget.TryAcquire(kLeastBuffer * readers);
}

// Files of one caller.
class Call : public ReadCall {
 public:
  Call(Scheduler& scheduler, const Context& ctx, const files::Root& root,
       CallOptions options, std::shared_ptr<ProgressFeed> feed,
       work::Budget& budget, int64_t most)
      : scheduler_(scheduler),
        most_(most),
        job_{ctx, root, options, std::move(feed), budget},
        line_(job_) {}
  ~Call() override { scheduler_.Leave(line_); }

  bool TryAdd(std::vector<FileRequest>& files) override;
  Result<void> WaitAndAdd(std::vector<FileRequest>& files) override;
  size_t outstanding() const override { return outstanding_; }
  std::vector<Outcome> Take() override {
    return Counted(scheduler_.Take(line_));
  }
  Result<std::vector<Outcome>> Wait() override;

 private:
  std::vector<Outcome> Counted(std::vector<Outcome> outcomes) {
    outstanding_ -= outcomes.size();
    return outcomes;
  }

  int64_t CostOf(const std::vector<FileRequest>& files) const;
  void Add(std::vector<FileRequest>& files, work::Lease lease);

  Scheduler& scheduler_;
  const int64_t most_;  // That can ever be free of the budget.
  Job job_;
  Line line_;
  size_t outstanding_ = 0;
};

// A batch that is larger than all there is passes once all is free.
int64_t Call::CostOf(const std::vector<FileRequest>& files) const {
  int64_t cost = 0;
  for (const FileRequest& file : files) {
    cost += Cost(file.expected, job_.options);
  }
  return std::min(cost, most_);
}

void Call::Add(std::vector<FileRequest>& files, work::Lease lease) {
  std::vector<Task> tasks;
  tasks.reserve(files.size());
  for (FileRequest& file : files) {
    work::Lease part = lease.Split(Cost(file.expected, job_.options));
    tasks.push_back({std::move(file), std::move(part)});
  }
  files.clear();
  outstanding_ += tasks.size();
  scheduler_.Add(line_, std::move(tasks));
}

bool Call::TryAdd(std::vector<FileRequest>& files) {
  if (files.empty()) return true;
  work::Lease lease = job_.budget.TryAcquire(CostOf(files));
  if (lease.amount() == 0) return false;
  Add(files, std::move(lease));
  return true;
}

Result<void> Call::WaitAndAdd(std::vector<FileRequest>& files) {
  if (files.empty()) return {};
  ASSIGN_OR_RETURN(work::Lease lease,
                   job_.budget.Acquire(job_.ctx, CostOf(files)));
  Add(files, std::move(lease));
  return {};
}

Result<std::vector<Outcome>> Call::Wait() {
  if (outstanding_ == 0) return std::vector<Outcome>();
  auto outcomes = scheduler_.Wait(job_.ctx, line_);
  if (outcomes) outstanding_ -= outcomes->size();
  return outcomes;
}

void Work(Scheduler& scheduler, FileReader reader) {
  Slice slice;
  while (scheduler.Next(slice)) {
    for (Task& task : slice.tasks) {
      Outcome outcome;
      switch (reader.Read(slice.line->job, task, outcome)) {
        case Step::kDone: slice.outcomes.push_back(std::move(outcome)); break;
        case Step::kMore: slice.more.push_back(std::move(task)); break;
        case Step::kBlocked: slice.blocked.push_back(std::move(task)); break;
        case Step::kChanged: slice.changed.push_back(std::move(task)); break;
        case Step::kStopped: break;
      }
    }
    slice.tasks.clear();
    reader.EndSlice();
  }
}

}  // namespace

struct ReadPool::State {
  State(work::Budget& of, const ReadPoolOptions& options);
  ~State() { scheduler.Stop(); }

  work::Budget& budget;
  const size_t readers;
  const work::Lease lease;  // For the buffers.
  const size_t buffer;      // Bytes of each.
  std::vector<std::byte> memory;
  Scheduler scheduler;
  std::vector<std::jthread> threads;
};

ReadPool::State::State(work::Budget& of, const ReadPoolOptions& options)
    : budget(of),
      readers(static_cast<size_t>(Readers(options))),
      lease(TakeBuffers(of, static_cast<int>(readers), options.buffer_bytes)),
      buffer(std::max(static_cast<size_t>(lease.amount()) / readers,
                      static_cast<size_t>(kLeastBuffer))),
      memory(readers * buffer),
      scheduler(static_cast<int>(readers), options.blocking_threads) {
  for (size_t i = 0; i < readers; ++i) {
    const std::span<std::byte> part(memory.data() + i * buffer, buffer);
    threads.emplace_back([this, part] { Work(scheduler, FileReader(part)); });
    pthread_setname_np(threads.back().native_handle(), "casemate-read");
  }
}

ReadPool::ReadPool(work::Budget& budget, ReadPoolOptions options)
    : state_(std::make_unique<State>(budget, options)) {}

ReadPool::~ReadPool() = default;

std::unique_ptr<ReadCall> ReadPool::Start(const Context& ctx,
                                          const files::Root& root,
                                          CallOptions options,
                                          std::shared_ptr<ProgressFeed> feed) {
  return std::make_unique<Call>(
      state_->scheduler, ctx, root, options, std::move(feed), state_->budget,
      state_->budget.capacity() - state_->lease.amount());
}

}  // namespace casemate::readpool
