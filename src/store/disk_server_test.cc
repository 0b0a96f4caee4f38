// One server for a folder, and nobody else meanwhile.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "base/check.h"
#include "store/for_test.h"
#include "testing/store_helpers.h"
#include "testing/temp_dir.h"

namespace casemate::store {
namespace {

using testing::Has;
using testing::MustPut;
using testing::MustRead;

class DiskServer : public ::testing::Test {
 protected:
  auto Open(const std::string& server = {}) {
    return DiskStore::Open(path_, {.server = server});
  }

  std::string MessageOf(const std::string& server = {}) {
    const auto store = Open(server);
    EXPECT_EQ(store ? Code::kOk : store.error().code,
              Code::kFailedPrecondition);
    return store ? "it was opened" : store.error().message;
  }

  testing::TempDir dir_;
  const std::string path_ = dir_ / "store";
};

TEST_F(DiskServer, KeepsOthersOutAndTellsThemWhereItIs) {
  auto server = Open("127.0.0.1:8980").value();
  EXPECT_EQ(MessageOf(), "open store " + path_ +
                             ": it is served by a casemate server at "
                             "127.0.0.1:8980: use --store "
                             "grpc://127.0.0.1:8980 instead");
  server.reset();
  EXPECT_TRUE(Open());
}

TEST_F(DiskServer, KeepsASecondServerOut) {
  const auto server = Open("unix:/run/casemate").value();
  EXPECT_EQ(MessageOf("127.0.0.1:1"),
            "open store " + path_ +
                ": it is served by a casemate server at unix:/run/casemate: "
                "use --store unix:/run/casemate instead");
}

TEST_F(DiskServer, DoesNotStartWhileAnybodyElseHasTheStore) {
  auto first = Open().value();
  const auto second = Open().value();
  EXPECT_NE(MessageOf("127.0.0.1:1").find("another process has it open"),
            std::string::npos);
  first.reset();
  EXPECT_FALSE(Open("127.0.0.1:1"));
  EXPECT_TRUE(Open()) << "and is in nobody's way afterwards";
}

TEST_F(DiskServer, ReplacesTheAddressOfAnEarlierOne) {
  ASSERT_TRUE(Open("a-very-long-host.example:65535"));
  const auto server = Open("host:1").value();
  EXPECT_EQ(testing::ReadFile(path_ + "/server"), "host:1\n");
  EXPECT_NE(MessageOf().find("at host:1: use"), std::string::npos);
}

TEST_F(DiskServer, CollectsAndVerifiesWhatItServes) {
  const auto server = Open("host:1").value();
  const Digest digest = MustPut(*server, "hello");
  EXPECT_TRUE(server->VerifyAll({}).value().foreign.empty());
  EXPECT_EQ(server->Gc({}, {.max_bytes = 0})->blobs_removed, 1);
  EXPECT_FALSE(Has(*server, digest));
  EXPECT_FALSE(Open());
}

TEST_F(DiskServer, LeavesTheStoreFreeWhenItIsKilled) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto server = Open("host:1").value();
    MustPut(*server, "hello");
    if (write(pipe[1], "x", 1) != 1) _exit(1);
    while (true) pause();
  }
  char ready = 0;
  ASSERT_EQ(read(pipe[0], &ready, 1), 1);
  EXPECT_FALSE(Open());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe[0]);
  close(pipe[1]);
  EXPECT_EQ(MustRead(*Open().value(), testing::DigestOf("hello")), "hello");
  EXPECT_TRUE(Open("host:2"));
}

}  // namespace
}  // namespace casemate::store
