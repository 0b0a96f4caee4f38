// AtomicFile and Staging while the first, second, third … system call fails,
// once and then for good: nothing is lost, leaked, or half visible.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include "casemate/bytes.h"
#include "files/atomic_file.h"
#include "files/for_test.h"
#include "files/staging.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

using sys::FaultInjector;
using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

// How a run went.
struct Attempt {
  bool succeeded = false;
  bool for_good = false;
  int64_t nth = 0;
};

// Runs `operation` until a run meets no fault. `prepare` stands before each,
// `check` after it, both undisturbed.
void Sweep(int error, const std::function<void()>& prepare,
           const std::function<bool()>& operation,
           const std::function<void(const Attempt&)>& check) {
  for (const bool for_good : {false, true}) {
    bool fired = true;
    for (int64_t nth = 1; fired; ++nth) {
      ASSERT_LT(nth, 1000);
      prepare();
      const size_t descriptors = CountDescriptors();
      Attempt run{.for_good = for_good, .nth = nth};
      {
        FaultInjector faults(
            {.nth = nth, .error = error, .for_good = for_good});
        run.succeeded = operation();
        fired = faults.fired();
      }
      EXPECT_EQ(CountDescriptors(), descriptors);
      EXPECT_TRUE(run.succeeded || fired);
      check(run);
    }
  }
}

class FaultSweep : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Errors, FaultSweep, ::testing::Values(EIO, EACCES),
                         [](const auto& param) {
                           return std::string(strerrorname_np(param.param));
                         });

void Clear(const TempDir& dir) {
  for (const std::string& name : NamesIn(dir.path())) {
    std::filesystem::remove_all(dir / name);
  }
}

TEST_P(FaultSweep, AnAtomicFileIsOldOrNewAndLeavesNothing) {
  TempDir dir;
  const Directory held = MustHold(dir.path());
  Sweep(
      GetParam(),
      [&] {
        Clear(dir);
        WriteFile(dir / "a", "old");
      },
      [&] {
        auto file = AtomicFile::Create(held);
        return file && file->file().Write(AsBytes("new")) &&
               file->file().Sync() && file->Publish("a", 0644, Replace::kYes);
      },
      [&](const Attempt& run) {
        EXPECT_EQ(ReadFile(dir / "a"), run.succeeded ? "new" : "old");
        // If no call works any more, the temporary file cannot be removed.
        EXPECT_LE(NamesIn(dir.path()).size(), run.for_good ? 2u : 1u);
      });
}

TEST_P(FaultSweep, AStagingReplacesWholeOrNotAtAll) {
  TempDir dir;
  const Destination destination = Destination::Resolve(dir / "out").value();
  const auto stage = [&](bool publish) {
    auto staging = Staging::Create({}, destination);
    if (!staging || !staging->root().MakeDirectories("new/newer", 0755)) {
      return false;
    }
    auto file = staging->root().CreateFile("new/f", 0644);
    return file && file->Write(AsBytes("x")) && file->Close() &&
           (!publish || staging->Publish({}, true));
  };
  Sweep(
      GetParam(),
      [&] {
        Clear(dir);
        std::filesystem::create_directories(dir / "out/old/older/oldest");
      },
      [&] { return stage(true); },
      [&](const Attempt& run) {
        EXPECT_EQ(NamesIn(dir / "out"),
                  std::vector<std::string>{run.succeeded ? "new" : "old"});
        EXPECT_EQ(std::filesystem::exists(dir / "out/new/f"), run.succeeded);
        // What could not be removed, the next one removes.
        EXPECT_TRUE(stage(false));
        EXPECT_EQ(NamesIn(dir.path()), std::vector<std::string>{"out"});
      });
}

TEST_P(FaultSweep, RemovingATreeFailsOrIsComplete) {
  TempDir dir;
  const Directory held = MustHold(dir.path());
  Sweep(
      GetParam(),
      [&] {
        Clear(dir);
        std::filesystem::create_directories(dir / "t/a/b/c");
        WriteFile(dir / "t/a/b/f", "");
      },
      [&] { return held.RemoveTree({}, "t").has_value(); },
      [&](const Attempt& run) {
        EXPECT_NE(run.succeeded, std::filesystem::exists(dir / "t"));
        EXPECT_TRUE(held.RemoveTree({}, "t"));
      });
}

}  // namespace
}  // namespace casemate::files
