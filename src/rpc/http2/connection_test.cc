// The rules of docs/wire.md, one by one, on a connection in memory.
#include "rpc/http2/connection.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "rpc/http2/for_test.h"
#include "rpc/http2/text.h"

namespace casemate::rpc::http2 {
namespace {

using namespace std::chrono_literals;

TEST(Connection, G01_WhatIsNoHttp2IsGivenUp) {
  Scene scene([](Shared&) {}, {.settings = false});
  scene.SendRaw("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  EXPECT_TRUE(scene.given_up);
  EXPECT_TRUE(scene.connection->finished());
}

TEST(Connection, G02_OtherMethodsGet405) {
  Scene scene;
  const Outcome& outcome = scene.Call("Echo", "x", {{":method", "GET"}});
  EXPECT_EQ(outcome.Field(":status"), "405");
  EXPECT_EQ(outcome.Field("allow"), "POST");
  EXPECT_EQ(outcome.status(), -1);
  EXPECT_EQ(scene.service.started, 0);
}

TEST(Connection, G03_OtherContentTypesGet415) {
  Scene scene;
  const Outcome& outcome =
      scene.Call("Echo", "x", {{"content-type", "application/json"}});
  EXPECT_EQ(outcome.Field(":status"), "415");
  EXPECT_EQ(outcome.status(), -1);
}

TEST(Connection, G03_IsAnsweredWhenItEndsOrTakesTooLong) {
  Scene scene;
  const int32_t stream = scene.client.Request("/test.Service/Echo",
                                              {{"content-type", "text/plain"}});
  for (int i = 0; i < 32; ++i) {
    EXPECT_FALSE(scene.client.outcome(stream).closed);
    scene.client.Send(stream, std::string(1 << 20, 'x'));
    scene.Exchange();
  }
  EXPECT_EQ(scene.client.outcome(stream).Field(":status"), "415");
}

TEST(Connection, G05_TheDeadlineIsTheCallsContext) {
  Scene scene;
  scene.client.Call("/test.Service/Hold", "x", {{"grpc-timeout", "5S"}});
  scene.Exchange();
  ASSERT_EQ(scene.service.held.size(), 1u);
  EXPECT_EQ(scene.service.held[0]->context().deadline, scene.clock.Now() + 5s);
}

TEST(Connection, G05_AMalformedTimeoutIsInternal) {
  Scene scene;
  EXPECT_EQ(scene.Call("Echo", "x", {{"grpc-timeout", "5"}}).status(), 13);
  EXPECT_EQ(scene.service.started, 0);
}

TEST(Connection, G06_AnUnknownCodingIsUnimplementedAndTellsTheKnown) {
  Scene scene;
  const Outcome& outcome = scene.Call("Echo", "x", {{"grpc-encoding", "br"}});
  EXPECT_EQ(outcome.status(), 12);
  EXPECT_EQ(outcome.Field("grpc-accept-encoding"), "identity,deflate,gzip");
}

std::string Deflated(const std::string& text) {
  std::string out(compressBound(text.size()), '\0');
  uLongf size = out.size();
  compress(reinterpret_cast<Bytef*>(out.data()), &size,
           reinterpret_cast<const Bytef*>(text.data()), text.size());
  out.resize(size);
  return out;
}

TEST(Connection, G06_G07_CompressedInPlainOut) {
  Scene scene;
  const int32_t stream = scene.client.Request(
      "/test.Service/Echo",
      {{"grpc-encoding", "deflate"}, {"grpc-accept-encoding", "deflate"}});
  scene.client.Send(stream, Framed(Deflated("hello"), 1) + Framed("plain"),
                    true);
  scene.Exchange();
  const Outcome& outcome = scene.client.outcome(stream);
  EXPECT_EQ(outcome.body, Framed("hello") + Framed("plain"));
  EXPECT_EQ(outcome.Field("grpc-encoding"), "");
}

TEST(Connection, G08_MetadataGoesInAndOut) {
  Scene scene;
  const Outcome& outcome =
      scene.Call("Meta", "x", {{"x-text", " two "}, {"x-raw-bin", "/w=="}});
  const CallInfo info = scene.service.last_info();
  EXPECT_EQ(*info.Find("x-text"), "two");
  EXPECT_EQ(*info.Find("x-raw-bin"), "\xff");
  const Metadata sent = {{"x-text", "two"}, {"x-raw-bin", "/w"}};
  for (const auto& field : sent) {
    EXPECT_EQ(std::count(outcome.headers.begin(), outcome.headers.end(), field),
              1);
    EXPECT_EQ(
        std::count(outcome.trailers.begin(), outcome.trailers.end(), field), 1);
  }
}

TEST(Connection, G09_UnknownPathsAreUnimplementedInOneFrame) {
  Scene scene;
  for (const char* path :
       {"/test.Service/None", "/none/Echo", "/Echo", "/", "//", "/a/",
        "/test.Service/", "/test.Service/Echo/x"}) {
    const int32_t stream = scene.client.Call(path, "x");
    scene.Exchange();
    const Outcome& outcome = scene.client.outcome(stream);
    EXPECT_TRUE(outcome.trailers_only()) << path;
    EXPECT_EQ(outcome.status(), 12) << path;
    EXPECT_EQ(outcome.Field(":status"), "200") << path;
  }
}

TEST(Connection, G10_BytesMayComeOneByOne) {
  Scene scene;
  const int32_t stream = scene.client.Request("/test.Service/Echo");
  const std::string bytes = Framed("hello") + Framed("") + Framed("world");
  for (const char byte : bytes) {
    scene.client.Send(stream, std::string(1, byte));
    scene.Exchange();
  }
  scene.client.HalfClose(stream);
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(stream).body, bytes);
  EXPECT_EQ(scene.client.outcome(stream).status(), 0);
}

TEST(Connection, G10_TheConnectionItselfMayComeByteByByte) {
  Scene scene([](Shared&) {}, {.settings = false});
  nghttp2_submit_settings(scene.client.session(), 0, nullptr, 0);
  const int32_t stream = scene.client.Call("/test.Service/Echo", "hello");
  for (const char byte : scene.client.Take()) {
    scene.connection->Receive({&byte, 1});
  }
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(stream).body, Framed("hello"));
}

TEST(Connection, G11_BadFlagsAreInternal) {
  Scene scene;
  for (const char flag : {'\1', '\2', '\xff'}) {
    const int32_t stream = scene.client.Request("/test.Service/Echo");
    scene.client.Send(stream, Framed("x", flag));
    scene.Exchange();
    EXPECT_EQ(scene.client.outcome(stream).status(), 13);
  }
  EXPECT_EQ(scene.service.cancelled, 3);
}

TEST(Connection, G12_TooLongIsResourceExhaustedFromThePrefix) {
  Scene scene([](Shared& shared) { shared.max_request_bytes = 100; });
  const int32_t stream = scene.client.Request("/test.Service/Echo");
  scene.client.Send(stream, std::string("\0\xff\xff\xff\xff", 5));
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(stream).status(), 8);
  EXPECT_EQ(scene.Call("Echo", std::string(100, 'x')).status(), 0);
}

TEST(Connection, G13_AnEndInsideAMessageIsInternal) {
  Scene scene;
  const std::string whole = Framed("hello");
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    const int32_t stream = scene.client.Request("/test.Service/Echo");
    scene.client.Send(stream, whole.substr(0, cut), true);
    scene.Exchange();
    EXPECT_EQ(scene.client.outcome(stream).status(), 13) << cut;
  }
}

TEST(Connection, G13_AnEmptyFrameHalfCloses) {
  Scene scene;
  const int32_t stream = scene.client.Request("/test.Service/Sum");
  scene.client.Send(stream, Framed("hello"));
  scene.Exchange();
  scene.client.HalfClose(stream);
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(stream).body, Framed("5"));
  EXPECT_EQ(scene.client.outcome(stream).status(), 0);
}

TEST(Connection, G14_NoneOrSeveralRequestsAreUnimplemented) {
  Scene scene;
  for (const std::string& body : {std::string(), Framed("a") + Framed("b")}) {
    const int32_t stream = scene.client.Request("/test.Service/One");
    scene.client.Send(stream, body, true);
    scene.Exchange();
    EXPECT_EQ(scene.client.outcome(stream).status(), 12);
  }
  EXPECT_EQ(scene.Call("One", "x").body, Framed("x"));
}

TEST(Connection, G15_HeadersMessagesTrailers) {
  Scene scene;
  const Outcome& outcome = scene.Call("Give", "3 5");
  EXPECT_EQ(outcome.headers, (Metadata{{":status", "200"},
                                       {"content-type", "application/grpc"}}));
  EXPECT_EQ(outcome.body, Framed("ggggg") + Framed("ggggg") + Framed("ggggg"));
  EXPECT_EQ(outcome.trailers, (Metadata{{"grpc-status", "0"}}));
  EXPECT_EQ(outcome.closed, NGHTTP2_NO_ERROR);
}

TEST(Connection, G15_TheContentTypeIsTheClients) {
  Scene scene;
  const Outcome& outcome =
      scene.Call("Echo", "x", {{"content-type", "application/grpc+proto"}});
  EXPECT_EQ(outcome.Field("content-type"), "application/grpc+proto");
}

TEST(Connection, G15_OkWithoutAMessage) {
  Scene scene;
  const int32_t stream = scene.client.Request("/test.Service/Echo");
  scene.client.HalfClose(stream);
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(stream).status(), 0);
  EXPECT_EQ(scene.client.outcome(stream).body, "");
}

TEST(Connection, G16_G17_AFailureBeforeAnythingIsTrailersOnly) {
  Scene scene;
  const Outcome& outcome = scene.Call("Refuse", "x");
  EXPECT_TRUE(outcome.trailers_only());
  EXPECT_EQ(outcome.Field(":status"), "200");
  EXPECT_EQ(outcome.Field("content-type"), "application/grpc");
  EXPECT_EQ(outcome.status(), 10);
  EXPECT_EQ(outcome.Field("grpc-message"), "100%25%0A%E2%98%83");
  EXPECT_EQ(outcome.Field("grpc-status-details-bin"), ToBase64("why"));
}

TEST(Connection, G18_AnEarlyEndStopsTheClientGently) {
  Scene scene;
  const int32_t stream = scene.client.Request("/test.Service/Early");
  scene.client.Send(stream, Framed("first"));
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(stream).status(), 0);
  EXPECT_EQ(scene.client.outcome(stream).closed, NGHTTP2_NO_ERROR);
  EXPECT_EQ(scene.hub.calls(), 0);
}

// What is under way when the call ends costs the connection nothing for ever.
TEST(Connection, G18_CreditOfWhatStillArrivesIsGivenBack) {
  Scene scene;
  for (int i = 0; i < 100; ++i) {
    const int32_t stream = scene.client.Request("/test.Service/Early");
    scene.client.Send(stream,
                      Framed("first") + Framed(std::string(60'000, 'x')));
    scene.Exchange();
    EXPECT_EQ(scene.client.outcome(stream).status(), 0);
  }
  EXPECT_EQ(scene.Call("Sum", std::string(50'000, 'x')).body, Framed("50000"));
}

TEST(Connection, G19_AResetCancelsAtOnce) {
  for (const uint32_t code :
       {NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR}) {
    Scene scene;
    const int32_t stream = scene.client.Request("/test.Service/Silent");
    scene.Exchange();
    EXPECT_EQ(scene.service.handlers, 1);
    scene.client.Reset(stream, code);
    scene.Exchange();
    EXPECT_EQ(scene.service.cancelled, 1);
    EXPECT_EQ(scene.service.handlers, 0);
    EXPECT_EQ(scene.records.statuses.at(0).code, Code::kCancelled);
  }
}

TEST(Connection, G19_AResetReachesTheTaskInThePool) {
  Scene scene;
  const int32_t stream = scene.client.Call("/test.Service/Block", "x");
  ASSERT_TRUE(scene.Until([&] { return scene.hub.calls() == 1; }));
  while (scene.service.blocked == 0) std::this_thread::yield();
  scene.client.Reset(stream);
  EXPECT_TRUE(scene.Until([&] { return scene.hub.calls() == 0; }));
  EXPECT_EQ(scene.service.blocked, 0);
}

TEST(Connection, G19_TheEndOfTheConnectionCancelsAll) {
  Scene scene;
  scene.client.Request("/test.Service/Silent");
  scene.client.Call("/test.Service/Block", "x");
  scene.Exchange();
  while (scene.service.blocked == 0) std::this_thread::yield();
  scene.Cut();
  EXPECT_EQ(scene.service.cancelled, 1);
  EXPECT_TRUE(scene.Until([&] { return scene.hub.calls() == 0; }));
}

TEST(Connection, G20_TheDeadlineEndsTheCall) {
  Scene scene;
  const int32_t stream =
      scene.client.Call("/test.Service/Silent", "x", {{"grpc-timeout", "2S"}});
  scene.Pass(1900ms);
  EXPECT_EQ(scene.service.cancelled, 0);
  scene.Pass(200ms);
  EXPECT_EQ(scene.service.cancelled, 1);
  EXPECT_EQ(scene.client.outcome(stream).status(), 4);
}

TEST(Connection, G20_ADeadlineThatHasPassedAlready) {
  Scene scene;
  const Outcome& outcome = scene.Call("Echo", "x", {{"grpc-timeout", "0n"}});
  EXPECT_TRUE(outcome.status() == 0 || outcome.status() == 4);
}

TEST(Connection, G20_TheStatusComesAlthoughTheWindowIsShut) {
  Scene scene([](Shared&) {}, {.window = 0});
  const int32_t stream = scene.client.Call("/test.Service/Give", "1 100000",
                                           {{"grpc-timeout", "2S"}});
  scene.Pass(2100ms);
  EXPECT_EQ(scene.client.outcome(stream).status(), 4);
  EXPECT_EQ(scene.hub.calls(), 0);
}

TEST(Connection, G20_HalfAMessageIsNotFollowedByAStatus) {
  Scene scene([](Shared&) {}, {.window = 50, .auto_window = false});
  const int32_t stream = scene.client.Call("/test.Service/Give", "1 100000",
                                           {{"grpc-timeout", "2S"}});
  scene.Pass(2100ms);
  EXPECT_EQ(scene.client.outcome(stream).body.size(), 50u);
  EXPECT_EQ(scene.client.outcome(stream).closed, NGHTTP2_CANCEL);
  EXPECT_EQ(scene.hub.calls(), 0);
}

TEST(Connection, G21_G29_TooManyCallsAreRefusedOneByOne) {
  Scene scene([](Shared& shared) { shared.max_calls = 2; });
  const int32_t a = scene.client.Request("/test.Service/Echo");
  scene.client.Request("/test.Service/Echo");
  const int32_t c = scene.client.Request("/test.Service/Echo");
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(c).closed, NGHTTP2_REFUSED_STREAM);
  EXPECT_EQ(scene.service.started, 2);
  scene.client.HalfClose(a);
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(a).status(), 0);
  EXPECT_EQ(scene.Call("Echo", "x").status(), 0);
  EXPECT_EQ(scene.client.goaways, 0);
}

TEST(Connection, G21_AServerThatHasDrainedRefusesStreams) {
  Scene scene;
  scene.shared.refusing = true;
  const int32_t stream = scene.client.Call("/test.Service/Echo", "x");
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(stream).closed, NGHTTP2_REFUSED_STREAM);
  EXPECT_EQ(scene.service.started, 0);
}

TEST(Connection, G21_AServerThatStopsAnswersUnavailable) {
  Scene scene;
  scene.hub.CancelAll(Status(Code::kUnavailable, "stop"));
  EXPECT_EQ(scene.Call("Echo", "x").status(), 14);
  EXPECT_EQ(scene.service.started, 0);
}

TEST(Connection, FramesOnAClosedStreamEndTheConnection) {
  for (const char type : {NGHTTP2_DATA, NGHTTP2_HEADERS}) {
    Scene scene;
    const int32_t stream = scene.client.Call("/test.Service/Echo", "x");
    scene.Exchange();
    const std::string head = {
        0, 0, 0, type, 4, 0, 0, 0, static_cast<char>(stream)};
    scene.SendRaw(head);
    EXPECT_EQ(scene.client.goaway, NGHTTP2_STREAM_CLOSED);
    EXPECT_TRUE(scene.connection->finished());
  }
}

TEST(Connection, G18_ButNotOnOneThatWasClosedEarly) {
  Scene scene;
  const int32_t stream = scene.client.Request("/test.Service/Early");
  scene.client.Send(stream, Framed("x"));
  scene.Exchange();
  const std::string data = {0, 0, 1, 0, 0, 0, 0, 0, static_cast<char>(stream)};
  scene.SendRaw(data + "x");
  EXPECT_FALSE(scene.client.goaway);
  EXPECT_EQ(scene.Call("Echo", "x").status(), 0);
}

// ---- Windows.

TEST(Connection, G22_NoCreditUntilTheHandlerTakes) {
  Scene scene;
  const int32_t stream = scene.client.Request("/test.Service/Hold");
  scene.client.Send(stream, Framed(std::string(200'000, 'x')) +
                                Framed(std::string(1'000'000, 'y')));
  scene.Exchange();
  scene.client.updates.clear();
  EXPECT_EQ(nghttp2_session_get_stream_remote_window_size(
                scene.client.session(), stream),
            0);
  scene.service.held[0]->Read();
  scene.Exchange();
  EXPECT_EQ(scene.service.received, 200'000);
  EXPECT_EQ(scene.client.updates[stream], 200'005);
}

TEST(Connection, G22_AMessageLargerThanTheWindowPasses) {
  Scene scene;
  EXPECT_EQ(scene.Call("Sum", std::string(5'000'000, 'x')).body,
            Framed("5000000"));
}

TEST(Connection, G22_AHandlerThatKeepsUpGetsALargerWindow) {
  Scene scene;
  const int32_t stream = scene.client.Request("/test.Service/Sum");
  for (int i = 0; i < 40; ++i) {
    scene.client.Send(stream, Framed(std::string(1 << 20, 'x')));
    scene.Exchange();
  }
  EXPECT_EQ(scene.windows.used(), (4 << 20) - (256 << 10));
  EXPECT_GT(nghttp2_session_get_stream_remote_window_size(
                scene.client.session(), stream),
            2 << 20);
  scene.client.HalfClose(stream);
  scene.Exchange();
  EXPECT_EQ(scene.windows.used(), 0);
}

TEST(Connection, G22_WithoutBudgetWindowsStayAsTheyAre) {
  Scene scene;
  const auto all = scene.windows.TryAcquire(scene.windows.capacity());
  const int32_t stream = scene.client.Request("/test.Service/Sum");
  for (int i = 0; i < 10; ++i) {
    scene.client.Send(stream, Framed(std::string(1 << 20, 'x')));
    scene.Exchange();
  }
  EXPECT_EQ(scene.service.received, 10 << 20);
  EXPECT_LE(nghttp2_session_get_stream_remote_window_size(
                scene.client.session(), stream),
            256 << 10);
}

TEST(Connection, G22_AThousandCallsDoNotUseUpTheConnectionsWindow) {
  Scene scene;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(scene.Call("Sum", std::string(10'000, 'x')).status(), 0);
  }
}

TEST(Connection, G22_ResetsGiveTheConnectionsCreditBack) {
  Scene scene;
  for (int i = 0; i < 100; ++i) {
    const int32_t stream = scene.client.Request("/test.Service/Silent");
    scene.client.Send(stream, Framed(std::string(50'000, 'x')));
    scene.Exchange();
    scene.client.Reset(stream);
    scene.Exchange();
  }
  EXPECT_EQ(scene.Call("Sum", std::string(50'000, 'x')).status(), 0);
}

TEST(Connection, G23_AShutWindowHoldsTheAnswerBack) {
  Scene scene([](Shared&) {}, {.window = 10, .auto_window = false});
  const int32_t stream = scene.client.Call("/test.Service/Give", "3 100");
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(stream).body.size(), 10u);
  for (int i = 0; i < 305; ++i) {  // One byte at a time.
    nghttp2_submit_window_update(scene.client.session(), 0, stream, 1);
    scene.Exchange();
  }
  EXPECT_EQ(scene.client.outcome(stream).body.size(), 315u);
  EXPECT_EQ(scene.client.outcome(stream).status(), 0);
}

TEST(Connection, G23_StreamsTakeTurns) {
  Scene scene([](Shared&) {}, {.window = 1 << 24});
  nghttp2_session_set_local_window_size(scene.client.session(), 0, 0, 1 << 24);
  scene.gather = 50'000;
  scene.client.Call("/test.Service/Give", "1 4000000");
  const int32_t small = scene.client.Call("/test.Service/Give", "1 4000");
  scene.Exchange();
  const auto& order = scene.client.data_order;
  const auto found = std::find(order.begin(), order.end(), small);
  ASSERT_NE(found, order.end());
  EXPECT_LE(found - order.begin(), 4);
}

TEST(Connection, G23_FramesAreAsLargeAsThePeerTakes) {
  Scene scene([](Shared&) {}, {.window = 1 << 20});
  const int32_t stream = scene.client.Call("/test.Service/Give", "1 60000");
  scene.Exchange();
  EXPECT_EQ(scene.client.outcome(stream).body.size(), 60'005u);
  EXPECT_FALSE(scene.client.broken);
}

TEST(Connection, G24_TheSettings) {
  Scene scene([](Shared& shared) { shared.max_streams = 77; });
  EXPECT_EQ(scene.client.settings,
            (std::map<int, uint32_t>{
                {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 77},
                {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 256 << 10},
                {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 16 << 10},
                {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 16 << 10}}));
}

}  // namespace
}  // namespace casemate::rpc::http2
