// The server with its sockets.
#include "rpc/http2/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <thread>

#include "base/log.h"
#include "rpc/http2/for_test.h"
#include "rpc/http2/socket_client.h"
#include "testing/temp_dir.h"

namespace casemate::rpc::http2 {
namespace {

using namespace std::chrono_literals;

class ServerTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> listeners = {"127.0.0.1:0"},
             const Http2Options& http2 = {}) {
    options_.listeners = std::move(listeners);
    Service* const services[] = {&service_};
    auto made = MakeHttp2Server(options_, services, pool_, http2);
    ASSERT_TRUE(made) << made.error().message;
    server_ = std::move(*made);
  }

  Error Refusal(const std::string& listener) {
    options_.listeners = {listener};
    auto made = MakeHttp2Server(options_, {}, pool_);
    return made ? Error{Code::kOk, "it listens"} : made.error();
  }

  const std::string& address() const { return server_->addresses().at(0); }

  // That it still serves.
  void ExpectEcho() { ExpectEchoOn(address()); }
  static void ExpectEchoOn(const std::string& address) {
    SocketClient client(address);
    EXPECT_EQ(client.Call("/test.Service/Echo", "hello").body, Framed("hello"))
        << address;
  }

  testing::TempDir folder_;
  work::Pool pool_{"test", 2};
  TestService service_;
  ServerOptions options_;
  std::unique_ptr<Http2Server> server_;
};

TEST_F(ServerTest, ListensOnSeveralAtOnce) {
  const std::string file = folder_.path() + "/socket";
  Start({"127.0.0.1:0", "[::1]:0", "unix:" + file, "localhost:0"});
  ASSERT_EQ(server_->addresses().size(), 4u);
  for (const std::string& each : server_->addresses()) {
    EXPECT_FALSE(each.ends_with(":0"));
    ExpectEchoOn(each);
  }
  server_.reset();
  EXPECT_NE(access(file.c_str(), F_OK), 0) << "the socket file is left behind";
}

TEST_F(ServerTest, TellsItsServicesWhoCallsIfSomebodyObserves) {
  Records records;
  options_.observer = &records;
  Start({"127.0.0.1:0"});
  ExpectEcho();
  EXPECT_TRUE(service_.last_info().peer.starts_with("ipv4:127.0.0.1:"))
      << service_.last_info().peer;
  Start({"[::1]:0"});
  ExpectEcho();
  EXPECT_TRUE(service_.last_info().peer.starts_with("ipv6:[::1]:"));
  Start({"unix:" + folder_.path() + "/socket"});
  ExpectEcho();
  EXPECT_EQ(service_.last_info().peer, "unix:");
  server_.reset();
  EXPECT_EQ(records.count(), 3);
}

TEST_F(ServerTest, WhatIsNoListenerIsRefused) {
  for (const char* bad : {"", "8980", "localhost", "127.0.0.1:x", ":8980",
                          "127.0.0.1:99999", "::1:80", "unix:", "[::1]"}) {
    EXPECT_EQ(Refusal(bad).code, Code::kInvalidArgument) << bad;
  }
  EXPECT_EQ(Refusal("unix:" + std::string(200, 'x')).code,
            Code::kInvalidArgument);
}

TEST_F(ServerTest, AnAddressInUseIsUnavailable) {
  Start({"127.0.0.1:0", "unix:" + folder_.path() + "/socket"});
  for (const std::string& each : server_->addresses()) {
    const Error error = Refusal(each);
    EXPECT_EQ(error.code, Code::kUnavailable);
    EXPECT_NE(error.message.find("in use"), std::string::npos) << error.message;
  }
}

TEST_F(ServerTest, ADeadServersSocketFileIsReplaced) {
  const std::string file = folder_.path() + "/socket";
  const int dead = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, file.c_str());
  ASSERT_EQ(bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof address),
            0);
  close(dead);
  Start({"unix:" + file});
  ExpectEcho();
}

TEST_F(ServerTest, AFileThatIsNoSocketIsNotReplaced) {
  const std::string file = folder_.path() + "/file";
  std::ofstream(file) << "precious";
  EXPECT_EQ(Refusal("unix:" + file).code, Code::kUnavailable);
  EXPECT_EQ(access(file.c_str(), F_OK), 0);
}

// As the service manager starts it: descriptor 3 listens already.
TEST_F(ServerTest, AdoptsTheServiceManagersSockets) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listening, reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
  ASSERT_EQ(listen(listening, 8), 0);
  const int kept = fcntl(3, F_DUPFD, 100);  // Somebody's, perhaps.
  ASSERT_EQ(dup2(listening, 3), 3);
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  setenv("LISTEN_FDS", "1", 1);
  Start({"systemd:"});
  ExpectEcho();
  server_.reset();
  unsetenv("LISTEN_FDS");
  EXPECT_EQ(Refusal("systemd:").code, Code::kUnavailable);
  close(listening);
  if (kept >= 0) {
    dup2(kept, 3);
    close(kept);
  }
}

TEST_F(ServerTest, ManyClientsOnSeveralLoops) {
  Start({"127.0.0.1:0"}, {.threads = 3});
  std::vector<std::jthread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([this, i] {
      SocketClient client(address());
      for (int j = 0; j < 50; ++j) {
        const std::string text = std::to_string(i * 1000 + j);
        EXPECT_EQ(client.Call("/test.Service/One", text).body, Framed(text));
        EXPECT_EQ(client.Call("/test.Service/Echo", text).body, Framed(text));
      }
    });
  }
  clients.clear();
  EXPECT_EQ(server_->counts().streams, 800);
  EXPECT_EQ(server_->counts().connections, 8);
}

TEST_F(ServerTest, LargeMessagesBothWays) {
  Start();
  SocketClient client(address());
  EXPECT_EQ(client.Call("/test.Service/Sum", std::string(20 << 20, 'x')).body,
            Framed(std::to_string(20 << 20)));
  EXPECT_EQ(client.Call("/test.Service/Give", "3 7000000").body.size(),
            3u * 7'000'005);
}

// The client opens its windows at once and says nothing more: only that the
// socket takes bytes again makes the server go on.
TEST_F(ServerTest, GoesOnWhenASocketThatWasFullHasRoom) {
  Start();
  SocketClient client(address(), {.window = 1u << 30, .auto_window = false});
  nghttp2_session_set_local_window_size(client.client().session(), 0, 0,
                                        1 << 30);
  EXPECT_EQ(client.Call("/test.Service/Give", "1 50000000").body.size(),
            50'000'005u);
}

TEST_F(ServerTest, G19_AClientThatVanishesFreesItsCalls) {
  Start();
  {
    SocketClient client(address());
    client.Start("/test.Service/Silent");
    client.CallWithoutWaiting("/test.Service/Block", "x");
    client.RunUntil([&] { return service_.blocked == 1; });
  }
  while (server_->calls_running() > 0) std::this_thread::yield();
  EXPECT_EQ(service_.handlers, 0);
  EXPECT_EQ(service_.blocked, 0);
}

TEST_F(ServerTest, G27_DrainLetsRunningCallsFinish) {
  Start();
  SocketClient client(address());
  const int32_t running = client.Start("/test.Service/Echo");
  client.client().Send(running, Framed("one"));
  client.RunUntil([&] { return !client.outcome(running).body.empty(); });
  std::jthread drain([this] {
    EXPECT_EQ(server_->Drain(std::chrono::steady_clock::now() + 20s), 0);
  });
  client.RunUntil([&] { return client.client().goaways == 2; });
  EXPECT_EQ(client.client().goaway_last, running);
  client.client().HalfClose(running);
  client.RunUntil([&] { return client.ended(); });
  EXPECT_EQ(client.outcome(running).status(), 0);
}

TEST_F(ServerTest, G27_DrainGivesUpAtItsDeadline) {
  Start();
  SocketClient client(address());
  const int32_t stuck = client.Start("/test.Service/Silent");
  client.RunUntil([&] { return service_.started == 1; });
  EXPECT_EQ(server_->Drain(std::chrono::steady_clock::now() + 10ms), 1);
  server_.reset();
  EXPECT_EQ(service_.cancelled, 1);
  client.RunUntil([&] { return client.ended(); });
  EXPECT_EQ(client.outcome(stuck).status(), 14);
}

TEST_F(ServerTest, G27_WhoDialsADrainedServerIsRefused) {
  const std::string file = folder_.path() + "/socket";
  Start({"127.0.0.1:0", "unix:" + file});
  const std::string before = address();
  EXPECT_EQ(server_->Drain(std::chrono::steady_clock::now()), 0);
  EXPECT_NE(access(file.c_str(), F_OK), 0);
  Start({before});  // The port is free.
  ExpectEcho();
}

TEST_F(ServerTest, EndsWhileClientsCall) {
  for (int round = 0; round < 20; ++round) {
    Start({"127.0.0.1:0"}, {.threads = 2});
    std::deque<SocketClient> ends;
    for (int i = 0; i < 3; ++i) ends.emplace_back(address());
    std::vector<std::jthread> clients;
    std::atomic<int> calls{0};
    for (SocketClient& client : ends) {
      clients.emplace_back([&client, &calls] {
        while (!client.ended()) {
          client.Call("/test.Service/One", "x");
          client.Call("/test.Service/Echo", "x");
          ++calls;
        }
      });
    }
    while (calls < 20) std::this_thread::yield();
    server_.reset();
    clients.clear();
  }
  EXPECT_EQ(service_.handlers, 0);
}

// ---- Hostile peers that need sockets.

TEST_F(ServerTest, OutOfDescriptorsItWaitsAndRecovers) {
  static std::atomic<int> warnings;
  warnings = 0;
  base::SetLogSink([](base::LogLevel, std::string_view) { ++warnings; });
  Start();
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  SocketClient waiting;  // Has its descriptor; the server will have none.
  const int lowest = dup(0);
  close(lowest);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(lowest);
  setrlimit(RLIMIT_NOFILE, &few);
  waiting.Connect(address());
  const int32_t stream =
      waiting.CallWithoutWaiting("/test.Service/Echo", "late");
  waiting.RunUntil([] { return warnings >= 2; });  // It tries again.
  EXPECT_FALSE(waiting.outcome(stream).closed);
  setrlimit(RLIMIT_NOFILE, &before);
  waiting.RunUntil([&] { return waiting.outcome(stream).closed.has_value(); });
  server_.reset();
  base::SetLogSink({});
  EXPECT_EQ(waiting.outcome(stream).body, Framed("late"));
}

TEST_F(ServerTest, G28_APeerThatDoesNotReadIsCutOff) {
  Start({"127.0.0.1:0"}, {.write_stall = 200ms});
  SocketClient client(address(), {.window = 1u << 30});
  nghttp2_session_set_local_window_size(client.client().session(), 0, 0,
                                        1 << 30);
  client.CallWithoutWaiting("/test.Service/Give", "100 10000000");
  client.SendOnly();
  while (service_.started == 0) std::this_thread::yield();
  while (server_->counts().connections_open > 0) std::this_thread::yield();
  EXPECT_EQ(service_.handlers, 0);
  ExpectEcho();
}

TEST_F(ServerTest, G28_APrefaceThatDoesNotCome) {
  Start({"127.0.0.1:0"}, {.hello_timeout = 100ms});
  const int silent = DialSocket(address());
  char byte;
  while (read(silent, &byte, 1) > 0) {  // Our SETTINGS, then the end.
  }
  close(silent);
  EXPECT_EQ(server_->counts().connections_open, 0);
}

TEST_F(ServerTest, AClientThatHalfClosesItsSocketStillGetsNothingWrong) {
  Start();
  SocketClient client(address());
  client.CallWithoutWaiting("/test.Service/Block", "x");
  client.RunUntil([&] { return service_.blocked == 1; });
  client.HalfCloseSocket();
  client.RunUntil([&] { return client.ended(); });
  while (server_->calls_running() > 0) std::this_thread::yield();
  ExpectEcho();
}

}  // namespace
}  // namespace casemate::rpc::http2
