#include "reapi/server/small_writes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "codec/zstd.h"
#include "reapi/server/answers.h"
#include "reapi/wire/choices.h"

namespace casemate::reapi {
namespace {

Error Bad(const Digest& digest, const std::string& why) {
  return {kBadUpload, "upload of blob " + digest.ToString() + ": " + why};
}

// All that the frames hold, which must be `digest`'s size. That size is bounded
// by who uses this, so it may be allocated.
Result<Bytes> Decode(const Digest& digest, const Bytes& frames) {
  codec::Decoder decoder(digest.size());
  // One byte more than is wanted: a full buffer would leave the end in doubt.
  std::string text(static_cast<size_t>(digest.size()) + 1, '\0');
  const auto output = std::as_writable_bytes(std::span(text));
  size_t size = 0;
  for (auto input = frames.span();;) {
    const auto step = decoder.Decode(input, output.subspan(size));
    if (!step) return Bad(digest, step.error().message);
    size += step->produced;
    input = input.subspan(step->consumed);
    if (input.empty() && step->produced == 0) break;
    if (step->consumed == 0 && step->produced == 0) break;
  }
  if (!decoder.at_border()) return Bad(digest, "its last frame has no end");
  if (size != static_cast<size_t>(digest.size())) {
    return Bad(digest, "its frames hold " + std::to_string(size) + " bytes");
  }
  text.resize(size);
  return Bytes::FromString(std::move(text));
}

}  // namespace

SmallWrite::SmallWrite(BlobStore& store, const Digest& digest, Bytes data,
                       Encoding encoding, rpc::Waker wake)
    : store_(store),
      digest_(digest),
      data_(std::move(data)),
      encoding_(encoding),
      wake_(std::move(wake)) {}

Result<Blob> SmallWrite::ToBlob() const {
  if (encoding_ == Encoding::kZstd) {
    ASSIGN_OR_RETURN(Bytes bytes, Decode(digest_, data_));
    return Blob::Claimed(digest_, std::move(bytes)).WithZstd(data_);
  }
  if (static_cast<int64_t>(data_.size()) != digest_.size()) {
    return Bad(digest_, std::to_string(data_.size()) + " bytes were sent");
  }
  return Blob::Claimed(digest_, data_);
}

void SmallWrite::End(Result<bool> result) {
  result_ = std::move(result);
  data_ = {};
  done_.store(true, std::memory_order_release);
  if (wake_) wake_();
}

void SmallWrite::StoreNow(const Context& ctx, Arrivals& arrivals) {
  SmallWrite* const self = this;
  StoreGroup(ctx, arrivals, {&self, 1});
}

// All of one store.
void SmallWrite::StoreGroup(const Context& ctx, Arrivals& arrivals,
                            std::span<SmallWrite* const> group) {
  BlobStore& store = group.front()->store_;
  std::vector<SmallWrite*> sound;
  std::vector<Blob> blobs;
  std::vector<Digest> compressed;
  for (SmallWrite* const each : group) {
    auto blob = each->ToBlob();
    if (!blob) {
      each->End(std::move(blob).error());
      continue;
    }
    sound.push_back(each);
    blobs.push_back(*std::move(blob));
    if (each->encoding_ == Encoding::kZstd) compressed.push_back(each->digest_);
  }
  // A compressed upload is answered in another way if the blob was there
  // . If that cannot be found out, it was not.
  std::vector<Digest> missing = compressed;
  if (!compressed.empty()) {
    if (auto found = store.FindMissing(ctx, compressed)) missing = *found;
  }
  const auto results = store.PutMany(ctx, blobs);
  for (size_t i = 0; i < sound.size(); ++i) {
    if (!results[i]) {
      sound[i]->End(UploadError(results[i].error()));
      continue;
    }
    arrivals.Tell(store, sound[i]->digest_);
    sound[i]->End(sound[i]->encoding_ == Encoding::kZstd &&
                  std::ranges::find(missing, sound[i]->digest_) ==
                      missing.end());
  }
}

SmallWrites::SmallWrites(work::Pool& pool, Arrivals& arrivals,
                         SmallWritesOptions options)
    : pool_(pool), arrivals_(arrivals), options_(options) {
  CASEMATE_CHECK(options.slots > 0 && options.max_items > 0);
}

SmallWrites::~SmallWrites() {
  base::MutexLock lock(mutex_);
  while (busy_slots_ > 0) idle_.Wait(mutex_);
}

void SmallWrites::Start(std::shared_ptr<SmallWrite> write) {
  Group group;
  {
    base::MutexLock lock(mutex_);
    waiting_.push_back(std::move(write));
    if (busy_slots_ == options_.slots) return;
    ++busy_slots_;
    group = Gather();
  }
  Launch(std::move(group));
}

void SmallWrites::Withdraw(const SmallWrite& write) {
  std::shared_ptr<SmallWrite> dropped;  // Ends after the lock.
  base::MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(
      waiting_, [&](const auto& each) { return each.get() == &write; });
  if (found == waiting_.end()) return;
  dropped = std::move(*found);
  waiting_.erase(found);
}

// The first that waits, and those after it that fit.
SmallWrites::Group SmallWrites::Gather() {
  Group group;
  int64_t room = options_.max_bytes;
  while (!waiting_.empty() && group.size() < options_.max_items) {
    const SmallWrite& next = *waiting_.front();
    const auto size = static_cast<int64_t>(next.data_.size());
    const bool fits = size <= room &&
                      (group.empty() || &group.front()->store_ == &next.store_);
    if (!fits && !group.empty()) break;
    room -= size;
    group.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  ++counters_.groups;
  counters_.writes += static_cast<int64_t>(group.size());
  return group;
}

void SmallWrites::Launch(Group group) {
  pool_.Run([this, group = std::move(group)] { Run(group); });
}

void SmallWrites::Run(const Group& group) {
  std::vector<SmallWrite*> writes;
  for (const auto& each : group) writes.push_back(each.get());
  SmallWrite::StoreGroup({}, arrivals_, writes);
  Group next;
  {
    base::MutexLock lock(mutex_);
    if (waiting_.empty()) {
      --busy_slots_;
      idle_.NotifyAll();
      return;
    }
    next = Gather();
  }
  Launch(std::move(next));  // Behind what else the pool has to do.
}

SmallWrites::Counters SmallWrites::counters() const {
  base::MutexLock lock(mutex_);
  return counters_;
}

size_t SmallWrites::waiting() const {
  base::MutexLock lock(mutex_);
  return waiting_.size();
}

}  // namespace casemate::reapi
