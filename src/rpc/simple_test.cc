#include "rpc/simple.h"

#include <gtest/gtest.h>

#include <latch>

#include "google/rpc/status.pb.h"
#include "testing/memory_call.h"

namespace casemate::rpc {
namespace {

using testing::CallUnary;
using testing::MemoryCall;

// Serves every method with one function.
class OneFunction : public Service {
 public:
  explicit OneFunction(Unary unary) : unary_(std::move(unary)) {}
  std::string_view name() const override { return "test.One"; }
  std::unique_ptr<Handler> Start(std::string_view, Call& call) override {
    return StartUnary(call, unary_);
  }

 private:
  const Unary unary_;
};

Answer Same(const Call&, const Bytes& request) { return Message(request); }

class StartUnaryTest : public ::testing::Test {
 protected:
  work::Pool pool_{"test", 1};
};

TEST_F(StartUnaryTest, GivesTheRequestToTheFunctionAndItsAnswerBack) {
  OneFunction service(Same);
  const auto result = CallUnary(service, "/test.One/M", "hello", pool_);
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(result.answer, "hello");
}

TEST_F(StartUnaryTest, AnEmptyRequestIsARequest) {
  OneFunction service(Same);
  MemoryCall call(service, "/test.One/M", pool_);
  call.Send("");
  call.HalfClose();
  EXPECT_EQ(call.Receive(), "");
  EXPECT_TRUE(call.Wait().ok());
}

TEST_F(StartUnaryTest, JoinsTheRequestsPieces) {
  OneFunction service(Same);
  MemoryCall call(service, "/test.One/M", pool_);
  call.SendPieces({"a", "", "bc"});
  call.HalfClose();
  EXPECT_EQ(call.Receive(), "abc");
}

TEST_F(StartUnaryTest, NoRequestIsUnimplemented) {
  OneFunction service(Same);
  MemoryCall call(service, "/test.One/M", pool_);
  call.HalfClose();
  EXPECT_EQ(call.Wait().code, Code::kUnimplemented);
}

TEST_F(StartUnaryTest, TwoRequestsAreUnimplemented) {
  OneFunction service(Same);
  MemoryCall call(service, "/test.One/M", pool_);
  call.Send("a");
  call.Send("b");
  EXPECT_EQ(call.Wait().code, Code::kUnimplemented);
  EXPECT_TRUE(call.answers().empty());
}

TEST_F(StartUnaryTest, AnErrorKeepsItsDetails) {
  OneFunction service([](const Call&, const Bytes&) -> Answer {
    Status status(Code::kAborted, "no");
    status.details = "why";
    return tl::unexpected(status);
  });
  const auto result = CallUnary(service, "/test.One/M", "", pool_);
  EXPECT_EQ(result.status.code, Code::kAborted);
  EXPECT_EQ(result.status.message, "no");
  EXPECT_EQ(result.status.details, "why");
}

TEST_F(StartUnaryTest, TheFunctionMayBlockUntilTheClientLeaves) {
  std::latch started(1);
  OneFunction service([&](const Call& call, const Bytes&) -> Answer {
    started.count_down();
    while (call.context().Check()) std::this_thread::yield();
    return tl::unexpected(Status(call.context().Check().error()));
  });
  MemoryCall call(service, "/test.One/M", pool_);
  call.Send("");
  call.HalfClose();
  started.wait();
  call.Cancel();
  EXPECT_EQ(call.Wait().code, Code::kCancelled);
}

TEST_F(StartUnaryTest, OverMessagesParsesAndSerializes) {
  OneFunction service(OverMessages<google::rpc::Status, google::rpc::Status>(
      [](const Call&, google::rpc::Status request)
          -> tl::expected<google::rpc::Status, Status> {
        request.set_code(request.code() + 1);
        return request;
      }));
  google::rpc::Status message;
  message.set_code(41);
  const auto result =
      CallUnary(service, "/test.One/M", message.SerializeAsString(), pool_);
  ASSERT_TRUE(message.ParseFromString(result.answer));
  EXPECT_EQ(message.code(), 42);
}

TEST_F(StartUnaryTest, ARequestThatDoesNotParseIsAnInvalidArgument) {
  OneFunction service(OverMessages<google::rpc::Status, google::rpc::Status>(
      [](const Call&, const google::rpc::Status& request)
          -> tl::expected<google::rpc::Status, Status> { return request; }));
  const auto result = CallUnary(service, "/test.One/M", "\xff", pool_);
  EXPECT_EQ(result.status.code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace casemate::rpc
