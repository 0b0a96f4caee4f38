#include "files/sys.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "files/for_test.h"

namespace casemate::files {
namespace {

using sys::Call;
using sys::FaultInjector;

TEST(FaultInjector, FailsTheCallThatItsPlanNames) {
  testing::TempDir dir;
  const Directory held = MustHold(dir.path());
  FaultInjector faults({.nth = 2, .error = ENOSPC});
  EXPECT_TRUE(held.StatSelf());
  EXPECT_EQ(held.StatSelf().error().code, Code::kResourceExhausted);
  EXPECT_TRUE(held.StatSelf());
  EXPECT_TRUE(faults.fired());
  EXPECT_EQ(faults.calls(), 3);
}

TEST(FaultInjector, FailsForGoodIfAsked) {
  testing::TempDir dir;
  const Directory held = MustHold(dir.path());
  FaultInjector faults({.nth = 2, .for_good = true});
  EXPECT_TRUE(held.StatSelf());
  EXPECT_FALSE(held.StatSelf());
  EXPECT_FALSE(held.StatSelf());
}

TEST(FaultInjector, CountsOnlyWhatItIsToldTo) {
  testing::TempDir dir;
  const Directory held = MustHold(dir.path());
  FaultInjector faults({.nth = 1, .counts = [](const Call& call) {
                          return call.name == "fsync";
                        }});
  EXPECT_TRUE(held.MakeDirectory("a", 0755));
  EXPECT_FALSE(held.Sync());
}

TEST(FaultInjector, ShowsFinishedCallsWithTheirPaths) {
  testing::TempDir dir;
  const Directory held = MustHold(dir.path());
  std::vector<std::string> seen;
  FaultInjector watch({.done = [&](const Call& call) {
    seen.push_back(std::string(call.name) + ' ' + call.path);
  }});
  ASSERT_TRUE(held.MakeDirectory("a", 0755));
  ASSERT_FALSE(held.MakeDirectory("a", 0755));
  ASSERT_TRUE(held.Sync());
  EXPECT_EQ(seen, (std::vector<std::string>{"mkdirat a", "fsync "}));
}

TEST(FaultInjector, LeavesTheCallsOfATestsOwnFunctionsAlone) {
  testing::TempDir dir;
  const Directory held = MustHold(dir.path());
  FaultInjector watch(
      {.nth = 2, .done = [&](const Call&) { EXPECT_TRUE(held.StatSelf()); }});
  EXPECT_TRUE(held.Sync());
  EXPECT_EQ(watch.calls(), 1);
}

TEST(FaultInjector, ClosesEvenWhereItLetsCloseFail) {
  testing::TempDir dir;
  const Directory held = MustHold(dir.path());
  const size_t before = CountDescriptors();
  auto file = held.CreateFile("a", 0644);
  FaultInjector faults({.nth = 1, .counts = [](const Call& call) {
                          return call.name == "close";
                        }});
  EXPECT_FALSE(file->Close());
  EXPECT_EQ(CountDescriptors(), before);
}

TEST(SystemCalls, AreRepeatedWhenASignalInterruptsThem) {
  testing::TempDir dir;
  const Directory held = MustHold(dir.path());
  FaultInjector faults({.nth = 1, .error = EINTR});
  EXPECT_TRUE(held.MakeDirectory("a", 0755));
  EXPECT_EQ(faults.calls(), 2);
}

}  // namespace
}  // namespace casemate::files
