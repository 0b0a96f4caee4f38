#include "readpool/file_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/try.h"
#include "files/error.h"

namespace casemate::readpool {
namespace {

// One turn of a large file: some three milliseconds of hashing.
constexpr int64_t kSlice = 4 << 20;

// Path, stat and digest of a file, about.
constexpr int64_t kOverhead = 256;

bool Kept(int64_t size, const CallOptions& options) {
  return size <= options.keep_bytes;
}

// A file that was listed with another size than it has. What it lacks is taken
// if it is free; a reader does not wait for it.
void Resize(const Job& job, Task& task, int64_t cost) {
  const int64_t missing = cost - task.lease.amount();
  if (missing > 0) task.lease.Merge(job.budget.TryAcquire(missing));
  task.lease.ShrinkTo(cost);
}

// Tells the feed what came since the last time, or takes all of it back.
void Report(const Job& job, Reading& reading, int64_t files, int64_t upto) {
  const int64_t bytes = upto - std::exchange(reading.reported, upto);
  if (job.feed && (files != 0 || bytes != 0)) job.feed->AddDone(files, bytes);
}

}  // namespace

int64_t Cost(const files::Stat& stat, const CallOptions& options) {
  return kOverhead + (Kept(stat.size, options) ? stat.size : 0);
}

// One byte will do: the attempt to read without waiting has made the kernel
// read ahead, and it goes on with that as the file is read. (Asking for it by
// posix_fadvise costs more than half of the hashing: such pages are allocated
// one by one, those of an ordinary read-ahead in large folios.)
void AwaitDisk(Task& task) {
  std::byte probe[1];
  (void)task.reading->file->ReadAt(task.reading->offset, probe);
  task.awaited = true;  // An error is met again by the reader.
}

Step FileReader::Read(const Job& job, Task& task, Outcome& outcome) {
  auto step = Advance(job, task, outcome);
  return step ? *step : Fail(job, task, std::move(step).error(), outcome);
}

Result<Step> FileReader::Advance(const Job& job, Task& task, Outcome& outcome) {
  if (job.Stopped()) return Step::kStopped;
  if (!task.reading) RETURN_IF_ERROR(Open(job, task));
  Reading& reading = *task.reading;
  const bool sized = reading.file->stat().size > 0;
  auto step = sized ? ReadSized(job, task) : ReadUnsized(job, task);
  if (!step && step.error().code == Code::kUnavailable) {
    step = Step::kBlocked;
  }
  if (!step) return Wrap(step.error(), files::Printable(task.request.path));
  if (*step == Step::kDone) {
    RETURN_IF_ERROR(Finish(job, task, outcome));
  } else {
    Report(job, reading, 0, reading.offset);
  }
  return step;
}

Result<void> FileReader::Open(const Job& job, Task& task) {
  ASSIGN_OR_RETURN(
      files::File file,
      cursor_.OpenFile(job.root, task.request.path, task.request.expected));
  const int64_t size = file.stat().size;
  if (size != task.request.expected.size) {
    Resize(job, task, Cost(file.stat(), job.options));
  }
  task.reading = TakeReading(job.options.function);
  task.reading->file = std::move(file);
  if (size > 0 && Kept(size, job.options)) {
    const auto length = static_cast<size_t>(size);
    auto content = std::make_shared_for_overwrite<std::byte[]>(length);
    std::byte* const into = content.get();
    task.reading->into = into;
    task.reading->content = Bytes::Share(std::move(content), {into, length});
  }
  return {};
}

// What is at hand from `offset`. What was waited for and is not there all the
// same is read at the price of waiting, so that every file gets on.
Result<size_t> FileReader::ReadSome(Task& task, int64_t offset,
                                    std::span<std::byte> buffer) {
  const files::File& file = *task.reading->file;
  const uint64_t device = file.stat().device;
  if (device == untold_) return file.ReadAt(offset, buffer);
  auto got = file.TryReadAt(offset, buffer);
  if (!got && got.error().code == Code::kUnimplemented) {
    untold_ = device;
    return file.ReadAt(offset, buffer);
  }
  if (task.awaited && !got && got.error().code == Code::kUnavailable) {
    got = file.ReadAt(offset, buffer);
  }
  if (got) task.awaited = false;
  return got;
}

Result<Step> FileReader::ReadSized(const Job& job, Task& task) {
  Reading& reading = *task.reading;
  const int64_t size = reading.file->stat().size;
  const int64_t end = std::min(size, reading.offset + kSlice);
  while (reading.offset < end) {
    const size_t length =
        std::min(buffer_.size(), static_cast<size_t>(end - reading.offset));
    const std::span<std::byte> part(
        reading.into ? reading.into + reading.offset : buffer_.data(), length);
    ASSIGN_OR_RETURN(const size_t got, ReadSome(task, reading.offset, part));
    if (got == 0) {
      return Error{Code::kFailedPrecondition,
                   "became shorter while it was read"};
    }
    reading.hasher.Update(part.first(got));
    reading.offset += static_cast<int64_t>(got);
    if (job.Stopped()) return Step::kStopped;
  }
  return end < size ? Step::kMore : Step::kDone;
}

// Files that say they are empty are read until nothing more comes: those below
// /proc have content.
Result<Step> FileReader::ReadUnsized(const Job& job, Task& task) {
  Reading& reading = *task.reading;
  std::string text;
  for (;;) {
    ASSIGN_OR_RETURN(
        const size_t got,
        ReadSome(task, static_cast<int64_t>(text.size()), buffer_));
    if (got == 0) break;
    text.append(reinterpret_cast<const char*>(buffer_.data()), got);
    if (!Kept(static_cast<int64_t>(text.size()), job.options)) {
      task.changes = job.options.changed_retries;  // Again would not help.
      return Error{
          Code::kFailedPrecondition,
          "is too large for a file whose size is not known in advance"};
    }
    if (job.Stopped()) return Step::kStopped;
  }
  if (text.empty()) return Step::kDone;
  reading.hasher.Update(AsBytes(text));
  reading.offset = static_cast<int64_t>(text.size());
  Resize(job, task, kOverhead + reading.offset);
  reading.content = Bytes::FromString(std::move(text));
  return Step::kDone;
}

Result<void> FileReader::Finish(const Job& job, Task& task, Outcome& outcome) {
  Reading& reading = *task.reading;
  ASSIGN_OR_RETURN(const files::Stat now, reading.file->Restat());
  if (!files::Unchanged(reading.file->stat(), now)) {
    return Error{
        Code::kFailedPrecondition,
        files::Printable(task.request.path) + ": changed while it was read"};
  }
  FileDigest file;
  file.digest = reading.hasher.Finish();
  file.stat = now;
  if (Kept(reading.offset, job.options)) {
    file.blob = Blob::Verified(file.digest, std::move(reading.content));
  }
  file.lease = std::move(task.lease);
  Report(job, reading, 1, reading.offset);
  PutBack(std::move(task.reading));
  outcome = {task.request.cookie, std::move(task.request.path),
             std::move(file)};
  return {};
}

// A file that changed is tried again, as it is now.
Step FileReader::Fail(const Job& job, Task& task, Error error,
                      Outcome& outcome) {
  if (task.reading) Report(job, *task.reading, 0, 0);
  task.reading.reset();
  task.awaited = false;
  if (error.code == Code::kFailedPrecondition &&
      task.changes++ < job.options.changed_retries) {
    auto stat = job.root.StatPath(task.request.path);
    if (!stat) {
      error = std::move(stat).error();
    } else if (stat->kind == files::Kind::kRegular) {
      Resize(job, task, Cost(*stat, job.options));
      task.request.expected = *stat;
      return Step::kChanged;
    }
  }
  task.lease.Release();
  outcome = {task.request.cookie, std::move(task.request.path),
             std::move(error)};
  return Step::kDone;
}

void FileReader::EndSlice() {
  cursor_.Reset();
  untold_.reset();
}

std::unique_ptr<Reading> FileReader::TakeReading(DigestFunction function) {
  if (spare_ && spare_->hasher.function() == function) return std::move(spare_);
  return std::make_unique<Reading>(digest::Hasher(function));
}

void FileReader::PutBack(std::unique_ptr<Reading> reading) {
  *reading = Reading(std::move(reading->hasher));
  spare_ = std::move(reading);
}

}  // namespace casemate::readpool
