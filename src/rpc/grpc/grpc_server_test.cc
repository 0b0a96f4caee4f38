#include "rpc/grpc/grpc_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>

#include "rpc/grpc/fixture_for_test.h"
#include "testing/temp_dir.h"

namespace casemate::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class GrpcServerTest : public GrpcTest {
 protected:
  // Whether a call of Echo comes through.
  static bool Answers(const std::shared_ptr<grpc::Channel>& channel) {
    return CallUnary(channel, "/Echo/Call", "x").answer == "x";
  }
  Error Refusal() {
    auto server = MakeGrpcServer(options_, {}, pool_);
    EXPECT_FALSE(server);
    return server ? Error{} : server.error();
  }
};

TEST_F(GrpcServerTest, ListensOnSeveralAddressesAndTellsThePorts) {
  const testing::TempDir folder;
  const std::string socket = "unix:" + folder.path() + "/s";
  options_.listeners = {"127.0.0.1:0", "[::1]:0", socket, "localhost:0"};
  AddEcho();
  Serve();
  const auto& addresses = server_->addresses();
  ASSERT_EQ(addresses.size(), 4u);
  EXPECT_THAT(addresses[0], MatchesRegex("127\\.0\\.0\\.1:[1-9][0-9]+"));
  EXPECT_THAT(addresses[1], MatchesRegex("\\[::1\\]:[1-9][0-9]+"));
  EXPECT_EQ(addresses[2], socket);
  for (const std::string& address : addresses) {
    EXPECT_TRUE(Answers(Connect(address))) << address;
  }
}

TEST_F(GrpcServerTest, SaysWhoHasThePort) {
  AddEcho();
  Serve();
  options_.listeners = {"127.0.0.1:0", server_->addresses().front()};
  const Error error = Refusal();
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_EQ(error.message, "cannot listen on " + options_.listeners[1] +
                               ": Address already in use");
}

TEST_F(GrpcServerTest, RefusesWhatIsNoAddress) {
  for (const char* bad :
       {"", "127.0.0.1", ":80", "::1:80", "h:x", "h:65536", "h:", "unix:"}) {
    options_.listeners = {bad};
    EXPECT_EQ(Refusal().code, Code::kInvalidArgument) << bad;
  }
  options_.listeners = {"unix:/" + std::string(200, 'x')};
  EXPECT_EQ(Refusal().code, Code::kInvalidArgument);
}

TEST_F(GrpcServerTest, SaysWhyItCannotListen) {
  options_.listeners = {"unix:/no/such/folder/s"};
  EXPECT_THAT(Refusal().message, HasSubstr("No such file or directory"));
  options_.listeners = {"192.0.2.1:0"};  // An address that nobody has.
  EXPECT_THAT(Refusal().message, HasSubstr("Cannot assign requested address"));
}

TEST_F(GrpcServerTest, TakesOverTheSocketOfAServerThatIsGone) {
  const testing::TempDir folder;
  const std::string path = folder.path() + "/s";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(fd);
  options_.listeners = {"unix:" + path};
  AddEcho();
  Serve();
  EXPECT_TRUE(Answers(channel_));
}

TEST_F(GrpcServerTest, LeavesTheSocketToAServerThatIsThere) {
  const testing::TempDir folder;
  options_.listeners = {"unix:" + folder.path() + "/s"};
  AddEcho();
  Serve();
  EXPECT_THAT(Refusal().message, HasSubstr("Address already in use"));
  EXPECT_TRUE(Answers(Connect(options_.listeners[0])));
}

TEST_F(GrpcServerTest, NeverRemovesAFileThatIsNoSocket) {
  const testing::TempDir folder;
  const std::string path = folder.path() + "/precious";
  std::ofstream(path) << "data";
  options_.listeners = {"unix:" + path};
  EXPECT_EQ(Refusal().code, Code::kFailedPrecondition);
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

TEST_F(GrpcServerTest, ARefusedStartLeavesNothingBehind) {
  options_.listeners = {"127.0.0.1:0", "192.0.2.1:0"};
  Refusal();
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = descriptors();
  for (int turn = 0; turn < 20; ++turn) Refusal();
  EXPECT_LE(descriptors(), before + 2);
}

// ---- The end.

TEST_F(GrpcServerTest, DrainWaitsForCallsThatEndInTime) {
  AddEcho();
  Serve();
  ClientCall call(channel_, "/Echo/Call");
  ASSERT_TRUE(call.Write("before"));
  ASSERT_EQ(call.Read(), "before");
  auto left = std::async(std::launch::async, [&] {
    return server_->Drain(steady_clock::now() + seconds(20));
  });
  while (Answers(Connect(server_->addresses().front()))) {
  }  // Until it takes no new calls.
  EXPECT_TRUE(call.Write("meanwhile"));
  EXPECT_EQ(call.Read(), "meanwhile");
  EXPECT_TRUE(call.HalfClose());
  EXPECT_TRUE(call.Finish().ok());
  EXPECT_EQ(left.get(), 0);
}

TEST_F(GrpcServerTest, DrainCancelsWhatIsLeftAtTheDeadline) {
  AddNoting([](Call& call) { call.Read(); });
  Serve();
  ClientCall one(channel_, "/Noting/Call"), two(channel_, "/Noting/Call");
  ASSERT_TRUE(counts_.Await("start", 2));
  EXPECT_EQ(server_->Drain(steady_clock::now() + milliseconds(50)), 2);
  EXPECT_EQ(counts_.Of("cancel"), 2);
  EXPECT_EQ(counts_.Of("end"), 2);
  EXPECT_EQ(server_->calls_running(), 0);
  EXPECT_EQ(one.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcServerTest, DrainTellsTheServices) {
  struct Told : TestService {
    using TestService::TestService;
    void Drain() override { ++told; }
    int told = 0;
  };
  auto service = std::make_unique<Told>("Told", nullptr);
  Told& told = *service;
  services_.push_back(std::move(service));
  Serve();
  EXPECT_EQ(server_->Drain(steady_clock::now() + seconds(20)), 0);
  EXPECT_EQ(told.told, 1);
}

TEST_F(GrpcServerTest, ItsEndCancelsWhatRunsAndWaitsForIt) {
  AddNoting([this](Call& call) {
    call.Offload([this, &call] {
      counts_.Add("task");
      while (call.context().Check()) std::this_thread::yield();
    });
  });
  Add("Stuck", [this](Call& call) {
    return std::make_unique<NotingHandler>(call, counts_, [](Call& c) {
      c.Write(Message(Bytes::FromString(std::string(16 << 20, 'x'))));
    });
  });
  Serve();
  ClientCall task(channel_, "/Noting/Call"), stuck(channel_, "/Stuck/Call");
  ASSERT_TRUE(counts_.Await("task", 1));
  ASSERT_TRUE(counts_.Await("start", 2));
  server_.reset();
  EXPECT_EQ(counts_.Of("cancel"), 2);
  EXPECT_EQ(counts_.Of("end"), 2);
}

TEST_F(GrpcServerTest, TellsTheObserverOfEachCall) {
  struct Observer : CallObserver {
    void OnEnd(const CallRecord& record) override {
      base::MutexLock lock(mutex);
      ends.push_back(record.info.method + " " +
                     std::string(CodeName(record.status.code)) + " " +
                     std::to_string(record.bytes_in) + " " +
                     std::to_string(record.bytes_out));
    }
    base::Mutex mutex;
    std::vector<std::string> ends GUARDED_BY(mutex);
  } observer;
  options_.observer = &observer;
  AddEcho();
  Serve();
  EXPECT_TRUE(Answers(channel_));
  CallUnary(channel_, "/Other/Call", "x");
  server_.reset();
  base::MutexLock lock(observer.mutex);
  EXPECT_THAT(observer.ends,
              ::testing::UnorderedElementsAre("/Echo/Call OK 1 1",
                                              "/Other/Call UNIMPLEMENTED 0 0"));
}

// ---- Many.

int64_t Threads() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return std::distance(begin(all), end(all));
}

TEST_F(GrpcServerTest, AThousandCallsAtOnceNeedNoMoreThreads) {
  AddEcho();
  Serve();
  std::vector<std::unique_ptr<ClientCall>> calls;
  const auto start = [&] {
    calls.push_back(std::make_unique<ClientCall>(channel_, "/Echo/Call"));
    ASSERT_TRUE(calls.back()->Write("x"));
  };
  for (int i = 0; i < 50; ++i) start();
  for (auto& call : calls) ASSERT_EQ(call->Read(), "x");
  const int64_t before = Threads();
  while (calls.size() < 1000) start();
  for (size_t i = 50; i < calls.size(); ++i) ASSERT_EQ(calls[i]->Read(), "x");
  EXPECT_EQ(server_->calls_running(), 1000);
  EXPECT_LE(Threads(), before + 2);
}

TEST_F(GrpcServerTest, ManyCallsLeaveNoDescriptorAndNoCallBehind) {
  AddEcho();
  Serve();
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  ASSERT_TRUE(Answers(channel_));
  const auto before = descriptors();
  for (int turn = 0; turn < 300; ++turn) {
    ClientCall call(
        turn % 10 == 0 ? Connect(server_->addresses().front()) : channel_,
        "/Echo/Call");
    call.Write("x");
    if (turn % 2 == 0) call.Read();
  }
  while (server_->calls_running() > 0) std::this_thread::yield();
  const auto deadline = steady_clock::now() + seconds(20);
  while (descriptors() > before && steady_clock::now() < deadline) {
    std::this_thread::yield();  // Until both ends have closed them.
  }
  EXPECT_LE(descriptors(), before);
}

}  // namespace
}  // namespace casemate::rpc
