#include "readpool/progress_feed.h"

#include <utility>

#include "readpool/progress_counters.h"

namespace casemate::readpool {
namespace {

void Add(std::atomic<int64_t>& counter, int64_t amount) {
  counter.fetch_add(amount, std::memory_order_relaxed);
}

int64_t Read(const std::atomic<int64_t>& counter) {
  return counter.load(std::memory_order_relaxed);
}

}  // namespace

// `finished` first: whoever sees it set sees all that was added before.
Progress ProgressFeed::Counters::Snapshot() const {
  Progress progress;
  progress.finished = finished.load(std::memory_order_acquire);
  progress.files_found = Read(files_found);
  progress.bytes_found = Read(bytes_found);
  progress.totals_known = totals_known.load(std::memory_order_relaxed);
  progress.files_done = Read(files_done);
  progress.bytes_done = Read(bytes_done);
  progress.bytes_transferred = Read(bytes_transferred);
  return progress;
}

ProgressFeed::ProgressFeed(std::shared_ptr<Counters> counters)
    : counters_(std::move(counters)) {}

ProgressFeed::~ProgressFeed() { Finish(); }

void ProgressFeed::AddFound(int64_t files, int64_t bytes) {
  Add(counters_->files_found, files);
  Add(counters_->bytes_found, bytes);
}

void ProgressFeed::SetTotalsKnown() {
  counters_->totals_known.store(true, std::memory_order_relaxed);
}

void ProgressFeed::AddDone(int64_t files, int64_t bytes) {
  Add(counters_->files_done, files);
  Add(counters_->bytes_done, bytes);
}

void ProgressFeed::AddTransferred(int64_t bytes) {
  Add(counters_->bytes_transferred, bytes);
}

void ProgressFeed::Finish() {
  if (counters_->finished.exchange(true, std::memory_order_acq_rel)) return;
  if (counters_->on_finish) counters_->on_finish();
}

Progress ProgressFeed::Snapshot() const { return counters_->Snapshot(); }

}  // namespace casemate::readpool
