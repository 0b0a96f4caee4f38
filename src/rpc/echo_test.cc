// A whole service in thirty lines, and how it is tested.
#include <gtest/gtest.h>

#include <string>

#include "rpc/service.h"
#include "testing/memory_call.h"

namespace casemate::rpc {
namespace {

// Sends each message back.
class EchoHandler : public Handler {
 public:
  explicit EchoHandler(Call& call) : call_(call) { call_.Read(); }
  void OnMessage(Message message) override { call_.Write(std::move(message)); }
  void OnSent() override { call_.Read(); }
  void OnHalfClose() override { call_.Finish({}); }

 private:
  Call& call_;
};

class Echo : public Service {
 public:
  std::string_view name() const override { return "test.Echo"; }
  std::unique_ptr<Handler> Start(std::string_view method, Call& call) override {
    if (method != "Echo") return nullptr;
    return std::make_unique<EchoHandler>(call);
  }
};

TEST(Echo, SendsEachMessageBackAndEndsWithTheClient) {
  work::Pool pool("test", 1);
  Echo echo;
  testing::MemoryCall call(echo, "/test.Echo/Echo", pool);
  call.Send("one");
  EXPECT_EQ(call.Receive(), "one");
  call.SendPieces({"t", "wo"});
  EXPECT_EQ(call.Receive(), "two");
  EXPECT_EQ(call.answers().back().pieces().size(), 2u);
  call.HalfClose();
  EXPECT_TRUE(call.Wait().ok());
}

TEST(Echo, KnowsNoOtherMethod) {
  work::Pool pool("test", 1);
  Echo echo;
  for (const char* path : {"/test.Echo/Other", "/test.Ech/Echo", "Echo", ""}) {
    testing::MemoryCall call(echo, path, pool);
    EXPECT_EQ(call.Wait().code, Code::kUnimplemented) << path;
  }
}

}  // namespace
}  // namespace casemate::rpc
