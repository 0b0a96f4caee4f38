#include "rpc/http2/timers.h"

#include "base/check.h"

namespace casemate::rpc::http2 {

Timer::~Timer() { CASEMATE_CHECK(place_ == kNowhere); }

void Timers::Set(Timer& timer, Time due) {
  if (timer.place_ == Timer::kNowhere) {
    timer.due_ = due;
    heap_.push_back(&timer);
    return Raise(&timer, heap_.size() - 1);
  }
  const bool earlier = due < timer.due_;
  timer.due_ = due;
  earlier ? Raise(&timer, timer.place_) : Sink(&timer, timer.place_);
}

void Timers::Clear(Timer& timer) {
  if (timer.place_ == Timer::kNowhere) return;
  const size_t place = timer.place_;
  timer.place_ = Timer::kNowhere;
  Timer* const last = heap_.back();
  heap_.pop_back();
  if (last == &timer) return;
  last->due_ < timer.due_ ? Raise(last, place) : Sink(last, place);
}

void Timers::Run(Time now) {
  while (next() <= now) {
    Timer& due = *heap_[0];
    Clear(due);
    due.OnTime();
  }
}

void Timers::Put(Timer* timer, size_t place) {
  heap_[place] = timer;
  timer->place_ = place;
}

void Timers::Raise(Timer* timer, size_t place) {
  while (place > 0) {
    const size_t parent = (place - 1) / 2;
    if (heap_[parent]->due_ <= timer->due_) break;
    Put(heap_[parent], place);
    place = parent;
  }
  Put(timer, place);
}

void Timers::Sink(Timer* timer, size_t place) {
  for (;;) {
    size_t child = 2 * place + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() &&
        heap_[child + 1]->due_ < heap_[child]->due_) {
      ++child;
    }
    if (timer->due_ <= heap_[child]->due_) break;
    Put(heap_[child], place);
    place = child;
  }
  Put(timer, place);
}

}  // namespace casemate::rpc::http2
