// What the server does on the wire itself; the numbers are those of the rules
// for gRPC over HTTP/2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "rpc/grpc/fixture_for_test.h"
#include "rpc/grpc/raw_peer_for_test.h"

namespace casemate::rpc {
namespace {

using std::chrono::milliseconds;

class GrpcWireTest : public GrpcTest {
 protected:
  // The frames of stream 1, until its end.
  static std::vector<Frame> Stream(RawPeer& peer) {
    std::vector<Frame> frames;
    while (const std::optional<Frame> frame = peer.Receive()) {
      if (frame->stream != 1) continue;
      frames.push_back(*frame);
      if ((frame->flags & 1) != 0) break;
    }
    return frames;
  }
};

TEST_F(GrpcWireTest, G09_AnUnknownPathIsAnsweredByTrailersOnly) {
  Serve();
  RawPeer peer(server_->addresses().front());
  peer.StartCall("/No/Such");
  const auto frames = Stream(peer);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].type, Frame::kHeaders);
}

TEST_F(GrpcWireTest, G16_AnEarlyErrorIsAnsweredByTrailersOnly) {
  AddNoting([](Call& call) { call.Finish({Code::kAborted, "no"}); });
  Serve();
  RawPeer peer(server_->addresses().front());
  peer.StartCall("/Noting/Call");
  EXPECT_EQ(Stream(peer).size(), 1u);
}

TEST_F(GrpcWireTest, G18_AnEarlyEndIsFollowedByAResetWithoutError) {
  AddNoting([](Call& call) { call.FinishWith({}); });
  Serve();
  RawPeer peer(server_->addresses().front());
  peer.StartCall("/Noting/Call");
  Stream(peer);
  std::optional<Frame> frame = peer.Receive();
  while (frame && frame->stream != 1) frame = peer.Receive();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->type, Frame::kReset);
  EXPECT_EQ(frame->payload, std::string(4, '\0'));
}

// gRPC drops the part, and tells of it as of a half-close.
TEST_F(GrpcWireTest, G13_PartOfAMessageIsNeverAMessage) {
  AddNoting([](Call& call) { call.Read(); });
  Serve();
  RawPeer peer(server_->addresses().front());
  peer.StartCall("/Noting/Call");
  peer.Send({Frame::kData, 1, 1, std::string("\0\0\0\0\x09half", 9)});
  EXPECT_TRUE(counts_.Await("half-close", 1));
  EXPECT_EQ(counts_.Of("message"), 0);
}

TEST_F(GrpcWireTest, G19_AResetCancelsTheCallAtOnce) {
  AddNoting([](Call& call) { call.Read(); });
  Serve();
  RawPeer peer(server_->addresses().front());
  peer.StartCall("/Noting/Call");
  ASSERT_TRUE(counts_.Await("start", 1));
  peer.Send({Frame::kReset, 0, 1, std::string("\0\0\0\x08", 4)});
  EXPECT_TRUE(counts_.Await("end", 1));
  EXPECT_EQ(counts_.Of("cancel"), 1);
  EXPECT_EQ(counts_.Of("half-close"), 0);
}

TEST_F(GrpcWireTest, G20_ADeadlineThatPassesEndsTheCallWhateverTheClientDoes) {
  struct : CallObserver {
    void OnEnd(const CallRecord& record) override { code = record.status.code; }
    std::atomic<Code> code = Code::kOk;
  } observer;
  options_.observer = &observer;
  AddNoting([](Call& call) { call.Read(); });
  Serve();
  RawPeer peer(server_->addresses().front());
  peer.StartCall("/Noting/Call", {{"grpc-timeout", "50m"}});
  EXPECT_TRUE(counts_.Await("end", 1));
  EXPECT_EQ(counts_.Of("cancel"), 1);
  server_.reset();
  EXPECT_EQ(observer.code, Code::kDeadlineExceeded);
}

TEST_F(GrpcWireTest, G25_APingIsAnswered) {
  Serve();
  RawPeer peer(server_->addresses().front());
  peer.Send({Frame::kPing, 0, 0, "12345678"});
  std::optional<Frame> frame = peer.Receive();
  while (frame && frame->type != Frame::kPing) frame = peer.Receive();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->flags, 1);
  EXPECT_EQ(frame->payload, "12345678");
}

TEST_F(GrpcWireTest, G25_APeerThatIsGoneWithoutAWordIsNoticed) {
  options_.keepalive_time = milliseconds(200);
  options_.keepalive_timeout = milliseconds(200);
  AddNoting([](Call& call) {
    call.SetIdleLimit(milliseconds(0));
    call.Read();
  });
  Serve();
  RawPeer peer(server_->addresses().front());
  peer.StartCall("/Noting/Call");
  bool pinged = false;
  while (const std::optional<Frame> frame = peer.Receive()) {
    pinged |= frame->type == Frame::kPing;  // And is not answered.
  }
  EXPECT_TRUE(pinged);
  EXPECT_TRUE(counts_.Await("end", 1));
  EXPECT_EQ(counts_.Of("cancel"), 1);
}

TEST_F(GrpcWireTest, G26_APeerThatPingsTooOftenIsSentAway) {
  Serve();
  RawPeer peer(server_->addresses().front());
  for (int i = 0; i < 5; ++i) peer.Send({Frame::kPing, 0, 0, "12345678"});
  std::optional<Frame> frame = peer.Receive();
  while (frame && frame->type != Frame::kGoAway) frame = peer.Receive();
  ASSERT_TRUE(frame);
  EXPECT_THAT(frame->payload, ::testing::HasSubstr("too_many_pings"));
}

TEST_F(GrpcWireTest, G27_DrainSaysGoAway) {
  AddNoting([](Call& call) { call.Read(); });
  Serve();
  RawPeer peer(server_->addresses().front());
  peer.StartCall("/Noting/Call");
  ASSERT_TRUE(counts_.Await("start", 1));
  server_->Drain(std::chrono::steady_clock::now() + milliseconds(100));
  std::optional<Frame> frame = peer.Receive();
  while (frame && frame->type != Frame::kGoAway) frame = peer.Receive();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->payload.substr(4, 4), std::string(4, '\0'));  // NO_ERROR.
}

}  // namespace
}  // namespace casemate::rpc
