#include "rpc/grpc/grpc_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/grpc/fixture_for_test.h"
#include "rpc/simple.h"

namespace casemate::rpc {
namespace {

using std::chrono::milliseconds;

class GrpcCallTest : public GrpcTest {};

Message Text(std::string text) {
  return Message(Bytes::FromString(std::move(text)));
}

TEST_F(GrpcCallTest, CarriesAUnaryCall) {
  Add("Unary", [](Call& call) {
    return StartUnary(call, [](const Call&, const Bytes& request) -> Answer {
      return Text("<" + std::string(request.view()) + ">");
    });
  });
  Serve();
  const UnaryReply reply = CallUnary(channel_, "/Unary/Call", "hello");
  EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
  EXPECT_EQ(reply.answer, "<hello>");
}

TEST_F(GrpcCallTest, CarriesMessagesBothWaysUntilTheHalfClose) {
  AddEcho();
  Serve();
  ClientCall call(channel_, "/Echo/Call");
  for (const char* text : {"one", "", "three"}) {
    EXPECT_TRUE(call.Write(text));
    EXPECT_EQ(call.Read(), text);
  }
  EXPECT_TRUE(call.HalfClose());
  EXPECT_EQ(call.Read(), std::nullopt);
  EXPECT_TRUE(call.Finish().ok());
}

TEST_F(GrpcCallTest, CarriesLargeMessages) {
  AddEcho();
  Serve();
  ClientCall call(channel_, "/Echo/Call");
  std::string large(20 << 20, 'x');
  for (size_t i = 0; i < large.size(); i += 997) large[i] = char('a' + i % 26);
  call.StartWrite(large);
  EXPECT_EQ(call.Read(), large);
}

TEST_F(GrpcCallTest, SendsAllPiecesOfAMessage) {
  AddNoting([](Call& call) {
    Message message;
    message.Append(Bytes::FromString("head"));
    for (int i = 0; i < 9; ++i) {
      message.Append(Bytes::FromString(std::string(10'000, char('0' + i))));
    }
    call.FinishWith(std::move(message));
  });
  Serve();
  ClientCall call(channel_, "/Noting/Call");
  const std::string answer = call.Read().value_or("");
  EXPECT_EQ(answer.size(), 90'004u);
  EXPECT_EQ(answer.substr(0, 5), "head0");
  EXPECT_EQ(answer.back(), '8');
  EXPECT_TRUE(call.Finish().ok());
}

TEST_F(GrpcCallTest, AStatusKeepsItsCodeMessageAndDetails) {
  AddNoting([](Call& call) {
    Status status(Code::kFailedPrecondition, "blob / ü % missing");
    status.details = std::string("\x08\x09\x12\x00\xff", 5);
    call.Finish(std::move(status));
  });
  Serve();
  ClientCall call(channel_, "/Noting/Call");
  const grpc::Status status = call.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "blob / ü % missing");
  EXPECT_EQ(status.error_details(), std::string("\x08\x09\x12\x00\xff", 5));
}

TEST_F(GrpcCallTest, TellsWhatCameWithTheHeaders) {
  CallInfo seen;
  struct : CallObserver {
    void OnEnd(const CallRecord&) override {}
  } observer;
  options_.observer = &observer;
  AddNoting([&](Call& call) {
    seen = call.info();
    call.Finish({});
  });
  Serve();
  ClientCall call(channel_, "/Noting/Call",
                  {.metadata = {{"a-bin", std::string("\0\xff", 2)},
                                {"b", "first"},
                                {"b", "second"}}});
  EXPECT_TRUE(call.Finish().ok());
  server_.reset();
  EXPECT_EQ(seen.method, "/Noting/Call");
  EXPECT_THAT(seen.peer, ::testing::StartsWith("ipv4:127.0.0.1:"));
  EXPECT_EQ(*seen.Find("a-bin"), std::string("\0\xff", 2));
  EXPECT_EQ(*seen.Find("b"), "first");
  EXPECT_THAT(seen.metadata,
              ::testing::Contains(std::make_pair("b", "second")));
  EXPECT_EQ(seen.Find("c"), nullptr);
}

TEST_F(GrpcCallTest, TheDeadlineIsTheClients) {
  Context seen;
  AddNoting([&](Call& call) {
    seen = call.context();
    call.Finish({});
  });
  Serve();
  const auto now = std::chrono::steady_clock::now();
  ClientCall timed(channel_, "/Noting/Call", {.timeout = milliseconds(60'000)});
  timed.Finish();
  EXPECT_GT(seen.deadline, now + std::chrono::seconds(50));
  EXPECT_LT(seen.deadline, now + std::chrono::seconds(70));
  ClientCall untimed(channel_, "/Noting/Call");
  untimed.Finish();
  EXPECT_EQ(seen.deadline, std::chrono::steady_clock::time_point::max());
}

TEST_F(GrpcCallTest, ADeadlineThatPassesCancels) {
  AddNoting([](Call& call) { call.Read(); });
  Serve();
  ClientCall call(channel_, "/Noting/Call", {.timeout = milliseconds(50)});
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(counts_.Await("end", 1));
  EXPECT_EQ(counts_.Of("cancel"), 1);
  EXPECT_EQ(counts_.Of("half-close"), 0);
}

TEST_F(GrpcCallTest, AnUnknownMethodOrServiceIsUnimplemented) {
  AddEcho();
  Serve();
  for (const char* path : {"/Echo/Other", "/Other/Call", "/Echo", "/"}) {
    ClientCall call(channel_, path);
    EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  }
}

// Where a client may leave: before anything, between messages, after its last.
TEST_F(GrpcCallTest, ACallThatTheClientLeavesIsCancelledOnceAtEachPoint) {
  AddNoting([](Call& call) { call.Read(); });
  Serve();
  for (int point = 0; point < 3; ++point) {
    ClientCall call(channel_, "/Noting/Call");
    ASSERT_TRUE(counts_.Await("start", point + 1));
    if (point == 1) call.Write("x");
    if (point == 2) call.HalfClose();
    ASSERT_TRUE(point != 1 || counts_.Await("message", 1));
    ASSERT_TRUE(point != 2 || counts_.Await("half-close", 1));
    call.Cancel();
    ASSERT_TRUE(counts_.Await("end", point + 1)) << point;
    EXPECT_EQ(counts_.Of("cancel"), point + 1);
  }
}

TEST_F(GrpcCallTest, ABrokenStreamIsNeverTakenForAHalfClose) {
  AddNoting([](Call& call) { call.Read(); });
  Serve();
  for (int turn = 1; turn <= 200; ++turn) {
    ClientCall call(channel_, "/Noting/Call");
    ASSERT_TRUE(turn % 2 != 0 || counts_.Await("start", turn / 2));
    call.Cancel();
  }
  channel_ = nullptr;
  server_.reset();
  EXPECT_EQ(counts_.Of("half-close"), 0);
  EXPECT_EQ(counts_.Of("start"), counts_.Of("cancel"));
  EXPECT_EQ(counts_.Of("start"), counts_.Of("end"));
}

TEST_F(GrpcCallTest, TheStopIsRequestedWhileATaskRuns) {
  AddNoting([this](Call& call) {
    call.Offload([this, &call] {
      counts_.Add("task");
      while (call.context().Check()) std::this_thread::yield();
    });
  });
  Serve();
  ClientCall call(channel_, "/Noting/Call");
  ASSERT_TRUE(counts_.Await("task", 1));
  call.Cancel();
  EXPECT_TRUE(counts_.Await("end", 1));
}

TEST_F(GrpcCallTest, MayFinishWhileTheClientStillSends) {
  AddNoting([](Call& call) {
    call.Read();
    call.Finish(Status(Code::kAlreadyExists, "enough"));
  });
  Serve();
  ClientCall call(channel_, "/Noting/Call");
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(counts_.Await("end", 1));
  EXPECT_EQ(counts_.Of("cancel"), 0);
}

TEST_F(GrpcCallTest, AnEarlyEndReachesAClientThatIsStuckSending) {
  AddNoting(
      [](Call& call) { call.FinishWith(Message(Bytes::FromString("done"))); });
  Serve();
  ClientCall call(channel_, "/Noting/Call");
  call.StartWrite(std::string(8 << 20, 'x'));  // Nobody takes it.
  EXPECT_EQ(call.Read(), "done");
  EXPECT_TRUE(call.Finish().ok());
  while (server_->calls_running() > 0) std::this_thread::yield();
}

TEST_F(GrpcCallTest, FinishSendsWhatWasWrittenFirst) {
  AddNoting([](Call& call) {
    call.Write(Text("one"));
    call.FinishWith(Text("two"));
  });
  Serve();
  ClientCall call(channel_, "/Noting/Call");
  EXPECT_EQ(call.Read(), "one");
  EXPECT_EQ(call.Read(), "two");
  EXPECT_TRUE(call.Finish().ok());
}

TEST_F(GrpcCallTest, AnEmptyLastMessageIsAMessage) {
  AddNoting([](Call& call) { call.FinishWith({}); });
  Serve();
  ClientCall call(channel_, "/Noting/Call");
  EXPECT_EQ(call.Read(), "");
  EXPECT_TRUE(call.Finish().ok());
}

TEST_F(GrpcCallTest, APeerThatTakesNothingHoldsUpTheNextWrite) {
  AddNoting([](Call& call) { call.Write(Text(std::string(16 << 20, 'x'))); });
  Serve();
  ClientCall call(channel_, "/Noting/Call");
  ASSERT_TRUE(counts_.Await("start", 1));
  EXPECT_EQ(counts_.Of("sent"), 0);
  EXPECT_EQ(call.Read()->size(), size_t{16} << 20);
  EXPECT_TRUE(counts_.Await("sent", 1));
}

TEST_F(GrpcCallTest, APeerThatTakesNothingForTooLongIsLeft) {
  options_.idle_limit = milliseconds(300);
  AddNoting([](Call& call) { call.Write(Text(std::string(16 << 20, 'x'))); });
  Serve();
  ClientCall call(channel_, "/Noting/Call");
  EXPECT_TRUE(counts_.Await("end", 1));
  EXPECT_EQ(counts_.Of("cancel"), 1);
  while (server_->calls_running() > 0) std::this_thread::yield();
}

TEST_F(GrpcCallTest, APeerThatSendsNothingForTooLongIsToldSo) {
  options_.idle_limit = milliseconds(300);
  AddNoting([](Call& call) { call.Read(); });
  Serve();
  ClientCall call(channel_, "/Noting/Call");
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(counts_.Await("end", 1));
}

TEST_F(GrpcCallTest, APeerThatDoesNotTakeTheEndIsLeft) {
  options_.idle_limit = milliseconds(300);
  AddNoting(
      [](Call& call) { call.FinishWith(Text(std::string(16 << 20, 'x'))); });
  Serve();
  ClientCall call(channel_, "/Noting/Call");
  EXPECT_TRUE(counts_.Await("end", 1));
  while (server_->calls_running() > 0) std::this_thread::yield();
}

// gRPC says that no message comes before it says that the call is broken, so
// the handler may take it for a half-close: whatever it answers then, the
// client must hear what was wrong.
TEST_F(GrpcCallTest, AMessageAboveTheLimitIsResourceExhausted) {
  options_.max_request_bytes = 1000;
  Add("Unary", [](Call& call) {
    return StartUnary(call, [](const Call&, const Bytes& request) -> Answer {
      return Message(request);
    });
  });
  AddEcho();
  Serve();
  for (int turn = 0; turn < 100; ++turn) {
    for (const char* path : {"/Unary/Call", "/Echo/Call"}) {
      ClientCall call(channel_, path);
      call.Write(std::string(1001, 'x'));
      const grpc::Status status = call.Finish();
      ASSERT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      ASSERT_THAT(status.error_message(), ::testing::HasSubstr("1001"));
    }
  }
  while (server_->calls_running() > 0) std::this_thread::yield();
}

TEST_F(GrpcCallTest, AMessageAtTheLimitPasses) {
  options_.max_request_bytes = 1000;
  AddEcho();
  Serve();
  ClientCall call(channel_, "/Echo/Call");
  EXPECT_TRUE(call.Write(std::string(1000, 'x')));
  EXPECT_EQ(call.Read()->size(), 1000u);
}

class CompressionTest
    : public GrpcTest,
      public ::testing::WithParamInterface<grpc_compression_algorithm> {};

TEST_P(CompressionTest, R060_OfTheClientIsUndoneAndOurAnswersHaveNone) {
  options_.max_request_bytes = 100'000;
  AddEcho();
  Serve();
  ClientCall call(channel_, "/Echo/Call", {.compression = GetParam()});
  const std::string text(50'000, 'z');
  EXPECT_TRUE(call.Write(text));
  EXPECT_EQ(call.Read(), text);
}

TEST_P(CompressionTest, DoesNotPassMoreThanTheLimit) {
  options_.max_request_bytes = 100'000;
  AddEcho();
  Serve();
  ClientCall call(channel_, "/Echo/Call", {.compression = GetParam()});
  call.Write(std::string(100'001, 'z'));
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_P(CompressionTest, OfABombEndsAtTheLimit) {
  options_.max_request_bytes = 1 << 20;
  AddNoting([](Call& call) { call.Read(); });
  Serve();
  ClientCall call(channel_, "/Noting/Call", {.compression = GetParam()});
  call.Write(std::string(50 << 20, 'z'));  // 50 KiB on the wire.
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(counts_.Await("cancel", 1));
}

INSTANTIATE_TEST_SUITE_P(All, CompressionTest,
                         ::testing::Values(GRPC_COMPRESS_GZIP,
                                           GRPC_COMPRESS_DEFLATE));

}  // namespace
}  // namespace casemate::rpc
