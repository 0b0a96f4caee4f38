#include "testing/memory_call.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>

namespace casemate::testing {
namespace {

using rpc::Call;
using rpc::Handler;
using rpc::Message;

// Writes answers as fast as it may, and counts what it hears.
class Eager : public Handler {
 public:
  Eager(Call& call, std::atomic<int>& sent) : call_(call), sent_(sent) {
    call_.Write(Message(Bytes::FromString("answer")));
  }
  void OnMessage(Message) override {}
  void OnSent() override {
    ++sent_;
    call_.Write(Message(Bytes::FromString("answer")));
  }

 private:
  Call& call_;
  std::atomic<int>& sent_;
};

// Reads one message, and another only when it is woken.
class Lazy : public Handler {
 public:
  Lazy(Call& call, rpc::Waker& waker, std::atomic<int>& messages)
      : call_(call), messages_(messages) {
    waker = call_.waker();
    call_.Read();
  }
  void OnMessage(Message) override { ++messages_; }
  void OnWake() override { call_.Read(); }

 private:
  Call& call_;
  std::atomic<int>& messages_;
};

class OneKind : public rpc::Service {
 public:
  explicit OneKind(std::function<std::unique_ptr<Handler>(Call&)> make)
      : make_(std::move(make)) {}
  std::string_view name() const override { return "test.Kind"; }
  std::unique_ptr<Handler> Start(std::string_view, Call& call) override {
    return make_(call);
  }

 private:
  const std::function<std::unique_ptr<Handler>(Call&)> make_;
};

class MemoryCallTest : public ::testing::Test {
 protected:
  work::Pool pool_{"test", 1};
};

TEST_F(MemoryCallTest, AnAnswerCountsAsSentOnceItWasReceived) {
  std::atomic<int> sent = 0;
  OneKind service(
      [&](Call& call) { return std::make_unique<Eager>(call, sent); });
  MemoryCall call(service, "/test.Kind/M", pool_);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(call.Receive(), "answer");
    EXPECT_LE(sent, i + 1);
  }
  EXPECT_EQ(call.answers().size(), 5u);
}

TEST_F(MemoryCallTest, AMessageStaysInTheWireUntilItIsAskedFor) {
  std::atomic<int> messages = 0;
  rpc::Waker waker;
  OneKind service([&](Call& call) {
    return std::make_unique<Lazy>(call, waker, messages);
  });
  MemoryCall call(service, "/test.Kind/M", pool_);
  call.WaitUntilReading();
  for (int i = 0; i < 3; ++i) call.Send("x");
  for (int asked = 1; asked < 3; ++asked) {
    while (messages < asked) std::this_thread::yield();
    EXPECT_EQ(messages, asked);
    waker();
  }
  while (messages < 3) std::this_thread::yield();
  waker();
  call.WaitUntilReading();  // Nothing is left in the wire.
}

TEST_F(MemoryCallTest, CarriesTheMetadata) {
  std::string seen;
  OneKind service([&](Call& call) -> std::unique_ptr<Handler> {
    seen = *call.info().Find("key");
    return nullptr;
  });
  MemoryCall call(service, "/test.Kind/M", pool_, {{"key", "value"}});
  EXPECT_EQ(call.Wait().code, Code::kUnimplemented);
  EXPECT_EQ(seen, "value");
}

TEST_F(MemoryCallTest, ItsEndCancelsAndWaitsForTheHandler) {
  struct Watched : Handler {
    explicit Watched(std::atomic<int>& e) : ends(e) {}
    ~Watched() override { ++ends; }
    void OnMessage(Message) override {}
    void OnCancel() override { ends += 10; }
    std::atomic<int>& ends;
  };
  std::atomic<int> ends = 0;
  OneKind service([&](Call&) { return std::make_unique<Watched>(ends); });
  { const MemoryCall call(service, "/test.Kind/M", pool_); }
  EXPECT_EQ(ends, 11);
}

TEST_F(MemoryCallTest, MayBeUsedAfterItHasEnded) {
  OneKind service([](Call&) { return nullptr; });
  MemoryCall call(service, "/test.Kind/M", pool_);
  EXPECT_EQ(call.Wait().code, Code::kUnimplemented);
  EXPECT_TRUE(call.ended());
  call.Send("late");
  call.HalfClose();
  call.Cancel();
  EXPECT_EQ(call.Receive(), std::nullopt);
  call.WaitUntilReading();
}

}  // namespace
}  // namespace casemate::testing
