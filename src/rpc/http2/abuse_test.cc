// Keepalive, drain, and what peers may not do: G-24 to G-29.
#include <gtest/gtest.h>

#include "rpc/http2/for_test.h"

namespace casemate::rpc::http2 {
namespace {

using namespace std::chrono_literals;

std::string Frame(int type, int flags, int32_t stream,
                  std::string_view payload) {
  const size_t size = payload.size();
  std::string frame = {
      static_cast<char>(size >> 16),   static_cast<char>(size >> 8),
      static_cast<char>(size),         static_cast<char>(type),
      static_cast<char>(flags),        static_cast<char>(stream >> 24),
      static_cast<char>(stream >> 16), static_cast<char>(stream >> 8),
      static_cast<char>(stream)};
  return frame.append(payload);
}

std::string Repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

void ExpectExpelled(Scene& scene) {
  EXPECT_EQ(scene.client.goaway, NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(scene.connection->finished());
}

TEST(Abuse, G24_SettingsHaveToBeAcknowledged) {
  Scene scene([](Shared&) {}, {.settings = false});
  scene.SendRaw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
                Frame(NGHTTP2_SETTINGS, 0, 0, ""));
  // The client's session would acknowledge; this peer does not.
  for (int i = 0; i < 101; ++i) {
    scene.clock.Move(100ms);
    scene.loop.TurnOnce();
  }
  EXPECT_TRUE(scene.connection->finished() || scene.given_up);
}

TEST(Abuse, G24_WhoAcknowledgesStays) {
  Scene scene;
  scene.Pass(15s);
  EXPECT_FALSE(scene.connection->finished());
  EXPECT_EQ(scene.Call("Echo", "x").status(), 0);
}

TEST(Abuse, G28_ASilentPeerIsGivenUpAfterTenSeconds) {
  Scene scene([](Shared&) {}, {.settings = false});
  scene.loop.TurnOnce();
  scene.clock.Move(9'900ms);
  scene.loop.TurnOnce();
  EXPECT_FALSE(scene.given_up);
  scene.clock.Move(200ms);
  scene.loop.TurnOnce();
  EXPECT_TRUE(scene.given_up);
}

TEST(Abuse, G25_PingsAreAnswered) {
  Scene scene;
  nghttp2_submit_ping(scene.client.session(), 0, nullptr);
  scene.Exchange();
  EXPECT_EQ(scene.client.ping_answers, 1);
}

TEST(Abuse, G25_ASilentConnectionIsAsked) {
  Scene scene;
  scene.Pass(59s);
  EXPECT_EQ(scene.client.pings, 0);
  scene.Pass(2s);
  EXPECT_EQ(scene.client.pings, 1);
  scene.Pass(200s);  // The client answers.
  EXPECT_FALSE(scene.given_up);
  EXPECT_GE(scene.client.pings, 3);
}

TEST(Abuse, G25_WhoDoesNotAnswerIsGivenUp) {
  Scene scene;
  scene.client.Request("/test.Service/Silent");
  scene.Exchange();
  scene.blocked = true;
  scene.Pass(79s);
  EXPECT_FALSE(scene.given_up);
  scene.Pass(2s);
  EXPECT_TRUE(scene.given_up);
}

TEST(Abuse, G26_TheThirdHastyPingIsTooMany) {
  Scene scene;
  for (int i = 0; i < 3; ++i) {
    nghttp2_submit_ping(scene.client.session(), 0, nullptr);
    scene.Exchange();
    EXPECT_FALSE(scene.client.goaway);
  }
  nghttp2_submit_ping(scene.client.session(), 0, nullptr);
  scene.Exchange();
  ExpectExpelled(scene);
  EXPECT_EQ(scene.client.goaway_text, "too_many_pings");
}

TEST(Abuse, G26_PatientPingsAreWelcome) {
  Scene scene;
  for (int i = 0; i < 20; ++i) {
    nghttp2_submit_ping(scene.client.session(), 0, nullptr);
    scene.Pass(5s);
  }
  EXPECT_FALSE(scene.client.goaway);
}

TEST(Abuse, G26_PingsBetweenDataAreWelcome) {
  Scene scene;
  for (int i = 0; i < 50; ++i) {
    nghttp2_submit_ping(scene.client.session(), 0, nullptr);
    EXPECT_EQ(scene.Call("Echo", "x").status(), 0);
  }
  EXPECT_FALSE(scene.client.goaway);
}

// ---- Drain.

TEST(Drain, G27_AnnouncedThenFinal) {
  Scene scene;
  const int32_t running = scene.client.Request("/test.Service/Echo");
  scene.Exchange();
  scene.connection->Drain();
  scene.loop.TurnOnce();  // The announcement leaves, no answer yet.
  EXPECT_FALSE(scene.connection->finished());
  scene.Exchange();
  EXPECT_EQ(scene.client.goaways, 2);
  EXPECT_EQ(scene.client.goaway, NGHTTP2_NO_ERROR);
  EXPECT_EQ(scene.client.goaway_last, running);
  scene.client.Send(running, Framed("x"), true);
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(running).status(), 0);
  EXPECT_TRUE(scene.connection->finished());
}

TEST(Drain, G27_ACallThatCrossesTheAnnouncementIsServed) {
  Scene scene;
  const int32_t crossing = scene.client.Call("/test.Service/Echo", "x");
  const std::string bytes = scene.client.Take();
  scene.connection->Drain();
  scene.loop.TurnOnce();
  scene.SendRaw(bytes);
  EXPECT_EQ(scene.client.outcome(crossing).status(), 0);
}

TEST(Drain, G27_WithoutAnAnswerToThePingItGoesOn) {
  Scene scene;
  scene.blocked = true;
  scene.connection->Drain();
  scene.Pass(1100ms);
  scene.blocked = false;
  scene.loop.Touch(scene.flushed());
  scene.Exchange();
  EXPECT_EQ(scene.client.goaways, 2);
}

TEST(Drain, AnIdleConnectionEndsAtOnce) {
  Scene scene;
  scene.connection->Drain();
  scene.Exchange();
  EXPECT_TRUE(scene.connection->finished());
}

// ---- Abuse costs the abuser the connection.

TEST(Abuse, G28_AHeaderListThatIsTooLarge) {
  Scene scene;
  scene.client.Request("/test.Service/Echo",
                       {{"x-large", std::string(17'000, 'x')}});
  scene.Exchange();
  ExpectExpelled(scene);
  EXPECT_EQ(scene.service.started, 0);
}

TEST(Abuse, G28_AHeaderListOfManySmallFields) {
  Scene scene;
  Metadata fields;
  for (int i = 0; i < 400; ++i) fields.emplace_back("x-repeat", "value");
  scene.client.Request("/test.Service/Echo", fields);
  scene.Exchange();
  ExpectExpelled(scene);
}

// One byte of the block refers to kilobytes of the table.
TEST(Abuse, G28_AnHpackBomb) {
  Scene scene;
  std::string block =
      "\x40\x01"
      "a";  // Into the table: a = 3,900 bytes.
  block += "\x7f";
  block += static_cast<char>(0x80 | ((3900 - 127) & 127));
  block += static_cast<char>((3900 - 127) >> 7);
  block += std::string(3900, 'x');
  block += Repeat("\xbe", 10'000);  // The newest entry, again and again.
  scene.SendRaw(Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, block));
  ExpectExpelled(scene);
}

TEST(Abuse, G28_EndlessContinuation) {
  Scene scene;
  const std::string field = std::string(
      "\x00\x01"
      "a\x01"
      "b",
      5);
  scene.SendRaw(Frame(NGHTTP2_HEADERS, 0, 1, field));
  for (int i = 0; i < 1000 && !scene.connection->finished(); ++i) {
    scene.SendRaw(Frame(NGHTTP2_CONTINUATION, 0, 1, field));
  }
  EXPECT_TRUE(scene.connection->finished());
}

TEST(Abuse, G28_StreamsOpenedAndResetInALoop) {
  Scene scene;
  int opened = 0;
  while (opened < 100'000 && !scene.connection->finished()) {
    const int32_t stream = scene.client.Request("/test.Service/Silent");
    scene.Exchange();
    scene.client.Reset(stream);
    scene.Exchange();
    ++opened;
  }
  EXPECT_LT(opened, 1000);
  ExpectExpelled(scene);
  EXPECT_EQ(scene.hub.calls(), 0);
}

TEST(Abuse, G28_ACallThatIsCancelledNowAndThenIsFine) {
  Scene scene;
  for (int i = 0; i < 2000; ++i) {
    const int32_t stream = scene.client.Request("/test.Service/Silent");
    scene.Exchange();
    scene.client.Reset(stream);
    EXPECT_EQ(scene.Call("Echo", "x").status(), 0);
  }
}

class Flood : public ::testing::TestWithParam<std::string> {};

TEST_P(Flood, G28_CostsTheConnection) {
  Scene scene;
  const int32_t stream = scene.client.Request("/test.Service/Hold");
  scene.Exchange();
  ASSERT_EQ(stream, 1);
  for (int i = 0; i < 1000 && !scene.connection->finished(); ++i) {
    scene.SendRaw(Repeat(GetParam(), 10));
  }
  EXPECT_TRUE(scene.connection->finished() || scene.given_up);
  scene.Cut();
  EXPECT_EQ(scene.hub.calls(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Frames, Flood,
    ::testing::Values(
        Frame(NGHTTP2_PING, 0, 0, "12345678"),
        Frame(NGHTTP2_SETTINGS, 0, 0, ""), Frame(NGHTTP2_DATA, 0, 1, ""),
        Frame(NGHTTP2_WINDOW_UPDATE, 0, 1, std::string("\0\0\0\1", 4)),
        Frame(NGHTTP2_PRIORITY, 0, 3, std::string("\0\0\0\1\7", 5)),
        Frame(0xfa, 0, 0, "unknown")));

TEST(Abuse, G28_AWindowThatOverflows) {
  Scene scene;
  scene.SendRaw(
      Frame(NGHTTP2_WINDOW_UPDATE, 0, 0, std::string("\x7f\xff\xff\xff", 4)));
  EXPECT_EQ(scene.client.goaway, NGHTTP2_FLOW_CONTROL_ERROR);
}

TEST(Abuse, G22_DataBeyondTheWindow) {
  Scene scene;
  const int32_t stream = scene.client.Request("/test.Service/Hold");
  scene.Exchange();
  const std::string full =
      Frame(NGHTTP2_DATA, 0, stream, std::string(16384, 0));
  for (int i = 0; i < 17; ++i) scene.SendRaw(full);
  EXPECT_TRUE(scene.client.outcome(stream).closed ==
                  NGHTTP2_FLOW_CONTROL_ERROR ||
              scene.client.goaway == NGHTTP2_FLOW_CONTROL_ERROR);
}

TEST(Abuse, G29_StreamsBeforeTheSettingsAreKnownAreRefusedOneByOne) {
  Scene scene([](Shared& shared) { shared.max_streams = 2; },
              {.settings = false});
  nghttp2_submit_settings(scene.client.session(), 0, nullptr, 0);
  std::vector<int32_t> streams;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(scene.client.Request("/test.Service/Echo"));
    scene.client.Send(streams.back(), Framed("x"));
  }
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(streams[3]).closed, NGHTTP2_REFUSED_STREAM);
  EXPECT_FALSE(scene.client.goaway);
  scene.client.HalfClose(streams[0]);
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(streams[0]).status(), 0);
}

TEST(Abuse, AConnectionCutAtEachByteOfASession) {
  std::string session;
  {
    Client client;
    client.Call("/test.Service/Echo", "hello");
    client.Call("/test.Service/Block", "hello");
    client.Call("/test.Service/Give", "2 100");
    session = client.Take();
  }
  for (size_t cut = 0; cut <= session.size(); ++cut) {
    Scene scene([](Shared&) {}, {.settings = false});
    scene.connection->Receive(std::string_view(session).substr(0, cut));
    scene.loop.TurnOnce();
    scene.Cut();
    scene.Until([&] { return scene.hub.calls() == 0; });
    EXPECT_EQ(scene.service.handlers, 0);
  }
}

TEST(Abuse, TwoThousandIdleStreamsEndWithTheirConnections) {
  Scene scene;
  for (int i = 0; i < 2000; ++i) scene.client.Request("/test.Service/Silent");
  scene.Exchange();
  EXPECT_EQ(scene.service.handlers, 2000);
  scene.Cut();
  EXPECT_EQ(scene.service.handlers, 0);
  EXPECT_EQ(scene.hub.calls(), 0);
}

TEST(Abuse, TheIdleLimitEndsWhoNeitherSendsNorTakes) {
  Scene scene;
  const int32_t stream = scene.client.Request("/test.Service/Echo");
  scene.Pass(61s);
  EXPECT_EQ(scene.client.outcome(stream).status(), 4);
}

}  // namespace
}  // namespace casemate::rpc::http2
