// gRPC C++ as a foreign peer of the server.
#include <gtest/gtest.h>

#include <algorithm>

#include "rpc/grpc/client_for_test.h"
#include "rpc/http2/for_test.h"
#include "rpc/http2/server.h"

namespace casemate::rpc::http2 {
namespace {

using namespace std::chrono_literals;

class GrpcClientTest : public ::testing::Test {
 protected:
  GrpcClientTest() {
    ServerOptions options;
    options.listeners = {"127.0.0.1:0"};
    Service* const services[] = {&service_};
    auto made = MakeHttp2Server(options, services, pool_, {.threads = 2});
    if (!made) return;
    server_ = std::move(*made);
    channel_ = Connect(server_->addresses()[0]);
  }

  static std::string Path(const char* method) {
    return std::string("/test.Service/") + method;
  }

  work::Pool pool_{"test", 2};
  TestService service_;
  std::unique_ptr<Http2Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(GrpcClientTest, SmallAndLargeMessagesBothWays) {
  ClientCall call(channel_, Path("Echo"));
  const size_t sizes[] = {0, 1, 1000, 16'384, 65'536, 3'000'000};
  for (const size_t size : sizes) {
    const std::string text(size, 'x');
    ASSERT_TRUE(call.Write(text));
    EXPECT_EQ(call.Read(), text);
  }
  ASSERT_TRUE(call.HalfClose());
  EXPECT_EQ(call.Read(), std::nullopt);
  EXPECT_TRUE(call.Finish().ok());
}

TEST_F(GrpcClientTest, UnaryCallsThroughThePool) {
  for (int i = 0; i < 100; ++i) {
    const std::string text = std::to_string(i);
    const UnaryReply reply = CallUnary(channel_, Path("One"), text);
    EXPECT_TRUE(reply.status.ok());
    EXPECT_EQ(reply.answer, text);
  }
}

TEST_F(GrpcClientTest, G17_AnErrorWithDetails) {
  const grpc::Status status = CallUnary(channel_, Path("Refuse"), "").status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(status.error_message(), "100%\n\u2603");
  EXPECT_EQ(status.error_details(), "why");
}

TEST_F(GrpcClientTest, G09_AnUnknownMethod) {
  EXPECT_EQ(CallUnary(channel_, Path("None"), "").status.error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(CallUnary(channel_, "/none/None", "").status.error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(GrpcClientTest, G08_MetadataThereAndBack) {
  ClientCall call(channel_, Path("Meta"),
                  {.metadata = {{"x-text", "value"},
                                {"x-raw-bin", std::string("\0\xff", 2)}}});
  ASSERT_TRUE(call.Write("x"));
  EXPECT_EQ(call.Read(), "x");
  EXPECT_TRUE(call.Finish().ok());
  for (const auto* list : {&call.context().GetServerInitialMetadata(),
                           &call.context().GetServerTrailingMetadata()}) {
    EXPECT_EQ(list->count("x-text"), 1u);
    ASSERT_EQ(list->count("x-raw-bin"), 1u);
    EXPECT_EQ(list->find("x-raw-bin")->second, grpc::string_ref("\0\xff", 2));
  }
}

TEST_F(GrpcClientTest, G06_CompressedRequests) {
  for (const auto coding : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    ClientCall call(channel_, Path("Echo"), {.compression = coding});
    const std::string text(100'000, 'x');
    ASSERT_TRUE(call.Write(text));
    EXPECT_EQ(call.Read(), text);
    call.HalfClose();
    EXPECT_TRUE(call.Finish().ok());
  }
}

TEST_F(GrpcClientTest, G19_CancellationReachesTheTask) {
  ClientCall call(channel_, Path("Block"));
  ASSERT_TRUE(call.Write("x"));
  ASSERT_TRUE(call.HalfClose());
  while (service_.blocked == 0) std::this_thread::yield();
  call.Cancel();
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::CANCELLED);
  while (server_->calls_running() > 0) std::this_thread::yield();
  EXPECT_EQ(service_.blocked, 0);
}

TEST_F(GrpcClientTest, G20_TheDeadline) {
  ClientCall call(channel_, Path("Silent"), {.timeout = 50ms});
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  while (server_->calls_running() > 0) std::this_thread::yield();
  EXPECT_EQ(service_.cancelled, 1);
}

TEST_F(GrpcClientTest, G18_AnEarlyEndWhileTheClientSends) {
  ClientCall call(channel_, Path("Early"));
  ASSERT_TRUE(call.Write("first"));
  EXPECT_EQ(call.Read(), std::nullopt);
  EXPECT_TRUE(call.Finish().ok());
}

TEST_F(GrpcClientTest, G12_AMessageAboveTheLimit) {
  ClientCall call(channel_, Path("Echo"));
  call.StartWrite(std::string(33 << 20, 'x'));
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(GrpcClientTest, G27_DrainedClientsGoElsewhere) {
  ClientCall running(channel_, Path("Echo"));
  ASSERT_TRUE(running.Write("one"));
  EXPECT_EQ(running.Read(), "one");
  std::jthread drain(
      [this] { server_->Drain(std::chrono::steady_clock::now() + 20s); });
  ASSERT_TRUE(running.Write("two"));
  EXPECT_EQ(running.Read(), "two");
  running.HalfClose();
  EXPECT_TRUE(running.Finish().ok());
  drain.join();
  EXPECT_EQ(CallUnary(channel_, Path("One"), "x").status.error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace casemate::rpc::http2
