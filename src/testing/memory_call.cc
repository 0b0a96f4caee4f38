#include "testing/memory_call.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include "base/check.h"
#include "base/mutex.h"
#include "rpc/call_core.h"

namespace casemate::testing {
namespace {

constexpr std::chrono::seconds kPatience{20};

}  // namespace

// What lies between client and handler.
struct MemoryCall::Line {
  explicit Line(rpc::CallHub& h) : hub(h) {}

  // Runs `event` on the hub's thread.
  void Post(std::function<void(Wire&)> event) REQUIRES(mutex);

  rpc::CallHub& hub;
  mutable base::Mutex mutex;
  base::CondVar changed;
  std::deque<rpc::Message> requests GUARDED_BY(mutex);
  std::deque<rpc::Message> answers GUARDED_BY(mutex);
  bool half_closed GUARDED_BY(mutex) = false;
  bool reading GUARDED_BY(mutex) = false;  // And there was nothing.
  Wire* wire GUARDED_BY(mutex) = nullptr;  // Until the handler has finished.
  bool ended GUARDED_BY(mutex) = false;
  rpc::Status status GUARDED_BY(mutex);

  // Waits for any change; false once patience has ended.
  bool WaitUntil(std::chrono::steady_clock::time_point deadline)
      REQUIRES(mutex) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    changed.WaitUntil(mutex, deadline);
    return true;
  }
};

// The server's end. What the client does comes by way of the hub's thread.
class MemoryCall::Wire : public rpc::CallCore {
 public:
  Wire(rpc::CallHub& hub, std::string_view path, Metadata metadata,
       std::shared_ptr<Line> line)
      : CallCore(hub, {std::string(path), "memory:", std::move(metadata)},
                 std::chrono::steady_clock::time_point::max()),
        line_(std::move(line)) {}

  ~Wire() override {
    base::MutexLock lock(line_->mutex);
    line_->ended = true;
    line_->changed.NotifyAll();
  }

  using CallCore::Arrived;
  using CallCore::HalfClosed;
  using CallCore::Ref;
  using CallCore::Sent;
  using CallCore::Unref;

 private:
  void WireRead() override {
    base::MutexLock lock(line_->mutex);
    if (!line_->requests.empty()) {
      rpc::Message next = std::move(line_->requests.front());
      line_->requests.pop_front();
      return Arrived(std::move(next));
    }
    if (line_->half_closed) return HalfClosed();
    line_->reading = true;
    line_->changed.NotifyAll();
  }

  void WireWrite(rpc::Message message) override {
    base::MutexLock lock(line_->mutex);
    line_->answers.push_back(std::move(message));
    line_->changed.NotifyAll();
  }

  void WireFinish(const rpc::Status& status, rpc::Message* last) override {
    {
      base::MutexLock lock(line_->mutex);
      line_->status = status;
      if (last != nullptr) line_->answers.push_back(std::move(*last));
      line_->reading = false;
      line_->wire = nullptr;
    }
    Gone();
  }

  void WireAbort() override {
    base::MutexLock lock(line_->mutex);
    line_->answers.clear();
  }

  const std::shared_ptr<Line> line_;
};

void MemoryCall::Line::Post(std::function<void(Wire&)> event) {
  if (wire == nullptr) return;
  wire->Ref();
  hub.Post([to = wire, event = std::move(event)] {
    event(*to);
    to->Unref();
  });
}

MemoryCall::MemoryCall(rpc::Service& service, std::string_view path,
                       work::Pool& pool, Metadata metadata)
    : hub_(pool, {.idle_limit = std::chrono::seconds(60)}),
      line_(std::make_shared<Line>(hub_)) {
  const bool named = path.starts_with("/" + std::string(service.name()) + "/");
  rpc::Service* const begun = named ? &service : nullptr;
  base::MutexLock lock(line_->mutex);
  line_->wire = new Wire(hub_, path, std::move(metadata), line_);
  line_->Post([begun](Wire& wire) { wire.Begin(begun); });
}

MemoryCall::~MemoryCall() {
  Cancel();
  Wait();
}

void MemoryCall::Send(std::string message) { SendPieces({std::move(message)}); }

void MemoryCall::SendPieces(std::vector<std::string> pieces) {
  rpc::Message message;
  for (std::string& piece : pieces) {
    message.Append(Bytes::FromString(std::move(piece)));
  }
  base::MutexLock lock(line_->mutex);
  CASEMATE_CHECK(!line_->half_closed);
  if (!std::exchange(line_->reading, false)) {
    return line_->requests.push_back(std::move(message));
  }
  line_->Post([message = std::move(message)](Wire& wire) mutable {
    wire.Arrived(std::move(message));
  });
}

void MemoryCall::HalfClose() {
  base::MutexLock lock(line_->mutex);
  line_->half_closed = true;
  if (!std::exchange(line_->reading, false)) return;
  line_->Post([](Wire& wire) { wire.HalfClosed(); });
}

void MemoryCall::Cancel() {
  base::MutexLock lock(line_->mutex);
  line_->Post([](Wire& wire) {
    wire.Cancel(rpc::Status(Code::kCancelled, "the client has gone"));
  });
}

std::optional<rpc::Message> MemoryCall::Take() {
  Line& line = *line_;
  base::MutexLock lock(line.mutex);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (line.answers.empty() && !line.ended) {
    if (line.WaitUntil(deadline)) continue;
    ADD_FAILURE() << "neither an answer nor an end within 20 s";
    return std::nullopt;
  }
  if (line.answers.empty()) return std::nullopt;
  rpc::Message answer = std::move(line.answers.front());
  line.answers.pop_front();
  line.Post([](Wire& wire) { wire.Sent(); });
  return answer;
}

std::optional<std::string> MemoryCall::Receive() {
  std::optional<rpc::Message> answer = Take();
  if (!answer) return std::nullopt;
  answers_.push_back(std::move(*answer));
  return std::string(answers_.back().Joined().view());
}

rpc::Status MemoryCall::Wait() {
  while (Receive()) {
  }
  base::MutexLock lock(line_->mutex);
  if (!line_->ended) return {Code::kUnknown, "it has not ended"};
  return line_->status;
}

void MemoryCall::WaitUntilReading() {
  Line& line = *line_;
  base::MutexLock lock(line.mutex);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!line.reading && !line.ended) {
    if (line.WaitUntil(deadline)) continue;
    ADD_FAILURE() << "it asks for nothing within 20 s";
    return;
  }
}

bool MemoryCall::ended() const {
  base::MutexLock lock(line_->mutex);
  return line_->ended;
}

UnaryResult CallUnary(rpc::Service& service, std::string_view path,
                      std::string request, work::Pool& pool,
                      Metadata metadata) {
  MemoryCall call(service, path, pool, std::move(metadata));
  call.Send(std::move(request));
  call.HalfClose();
  std::string answer = call.Receive().value_or("");
  return {call.Wait(), std::move(answer)};
}

}  // namespace casemate::testing
