#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>

#include "digest/hasher.h"
#include "testing/store_helpers.h"
#include "testing/temp_dir.h"
#include "tree/capture.h"

namespace casemate::tree {
namespace {

namespace fs = std::filesystem;

// A capture that a test takes item by item.
class CaptureStepsTest : public ::testing::Test {
 protected:
  void File(const std::string& name, const std::string& content = "x") {
    testing::WriteFile(dir_ / name, content);
  }
  void Start(CaptureOptions options) {
    capture_.emplace(ctx_, root_, pool_, std::move(options), feed_);
  }

  // The next item that is no SmallBlob, if there is one.
  std::optional<CaptureItem> Next() {
    for (;;) {
      auto item = capture_->TryNext().value();
      if (item && !std::holds_alternative<SmallBlob>(*item)) return item;
      if (!item && !capture_->WaitForReaders().value()) return std::nullopt;
    }
  }
  template <typename Item>
  Item Next() {
    return std::get<Item>(Next().value());
  }

  testing::TempDir dir_;
  std::stop_source stop_;
  Context ctx_{.stop = stop_.get_token()};
  files::Root root_ = files::Root::Open(dir_.path()).value();
  work::Budget budget_{4 << 20};
  readpool::ReadPool pool_{budget_, {.readers = 2}};
  readpool::ProgressDispatch dispatch_;
  std::shared_ptr<readpool::ProgressFeed> feed_ = dispatch_.NewFeed(nullptr);
  std::optional<Capture> capture_;
};

TEST_F(CaptureStepsTest, HoldsADirectoryBackForItsLargeFile) {
  File("f", "large");
  Start({.keep_bytes = 4});
  const LargeFile large = Next<LargeFile>();
  EXPECT_EQ(large.path, "f");
  EXPECT_EQ(large.digest, testing::DigestOf("large"));
  EXPECT_EQ(large.source->size(), 5);
  EXPECT_FALSE(Next());
  capture_->Stored(large.token);
  EXPECT_EQ(Next<Captured>().bytes, 5);
}

TEST_F(CaptureStepsTest, LeavesOutALargeFileThatFailed) {
  File("f", "large");
  Start({.keep_bytes = 4});
  capture_->Failed(Next<LargeFile>().token, {Code::kUnavailable, "down"});
  const FailedEntry failed = Next<FailedEntry>();
  EXPECT_EQ(failed.path, "f");
  EXPECT_EQ(failed.error.code, Code::kUnavailable);
  EXPECT_TRUE(digest::IsEmpty(Next<Captured>().root));
}

TEST_F(CaptureStepsTest, RereadsALargeFileThatChanged) {
  File("f", "large");
  Start({.keep_bytes = 4});
  const LargeFile first = Next<LargeFile>();
  File("f", "larger");
  EXPECT_EQ(first.source->Open({}, 0).error().code, Code::kFailedPrecondition);
  capture_->Reread(first.token);
  const LargeFile second = Next<LargeFile>();
  EXPECT_EQ(second.digest, testing::DigestOf("larger"));
  capture_->Stored(second.token);
  EXPECT_EQ(Next<Captured>().bytes, 6);
}

TEST_F(CaptureStepsTest, TakesALargeFileThatBecameSmall) {
  File("f", "large");
  Start({.keep_bytes = 4});
  const LargeFile first = Next<LargeFile>();
  File("f", "s");
  capture_->Reread(first.token);
  EXPECT_EQ(Next<Captured>().bytes, 1);
}

TEST_F(CaptureStepsTest, GivesUpALargeFileAtTheThirdReread) {
  File("f", "large");
  Start({.keep_bytes = 4});
  capture_->Reread(Next<LargeFile>().token);
  capture_->Reread(Next<LargeFile>().token);
  capture_->Reread(Next<LargeFile>().token);
  EXPECT_EQ(Next<FailedEntry>().error.code, Code::kFailedPrecondition);
  EXPECT_TRUE(digest::IsEmpty(Next<Captured>().root));
}

TEST_F(CaptureStepsTest, GivesUpALargeFileThatIsNoFileAnyMore) {
  File("f", "large");
  Start({.keep_bytes = 4});
  const LargeFile first = Next<LargeFile>();
  fs::remove(dir_ / "f");
  ASSERT_EQ(mkfifo((dir_ / "f").c_str(), 0600), 0);
  capture_->Reread(first.token);
  EXPECT_EQ(Next<FailedEntry>().path, "f");
}

// The FIFO is handed out as soon as the root was looked at, which is before
// anything below it is.
class CaptureRaceTest : public CaptureStepsTest {
 protected:
  CaptureRaceTest() {
    EXPECT_EQ(mkfifo((dir_ / "fifo").c_str(), 0600), 0);
    fs::create_directory(dir_ / "d");
    File("d/f");
    Start({});
    EXPECT_EQ(Next<SkippedEntry>().path, "fifo");
  }
};

TEST_F(CaptureRaceTest, ReportsADirectoryThatVanished) {
  fs::remove_all(dir_ / "d");
  const FailedEntry failed = Next<FailedEntry>();
  EXPECT_EQ(failed.path, "d");
  EXPECT_EQ(failed.error.code, Code::kNotFound);
  EXPECT_TRUE(digest::IsEmpty(Next<Captured>().root));
}

TEST_F(CaptureRaceTest, DoesNotEnterADirectoryThatBecameALink) {
  testing::TempDir outside;
  testing::WriteFile(outside / "secret", "secret");
  fs::remove_all(dir_ / "d");
  fs::create_symlink(outside.path(), dir_ / "d");
  EXPECT_EQ(Next<FailedEntry>().path, "d");
  EXPECT_EQ(Next<Captured>().files, 0);
}

TEST_F(CaptureRaceTest, StopsWhenItsContextSaysSo) {
  stop_.request_stop();
  EXPECT_EQ(capture_->TryNext().error().code, Code::kCancelled);
}

TEST_F(CaptureStepsTest, CountsWhatItFindsAndSaysWhenThatIsAll) {
  File("a", "1");
  fs::create_directory(dir_ / "d");
  File("d/b", "22");
  Start({});
  Next<Captured>();
  const Progress progress = feed_->Snapshot();
  EXPECT_EQ(progress.files_found, 2);
  EXPECT_EQ(progress.bytes_found, 3);
  EXPECT_TRUE(progress.totals_known);
  EXPECT_EQ(progress.files_done, 2);
}

// The budget of 4 MiB holds a few of these files at a time.
TEST_F(CaptureStepsTest, GetsThroughATreeFarAboveTheBudget) {
  for (int i = 0; i < 40; ++i) {
    File(std::to_string(i), std::string(500'000, static_cast<char>('a' + i)));
  }
  Start({});
  EXPECT_EQ(Next<Captured>().bytes, 20'000'000);
  EXPECT_LE(budget_.peak(), 4 << 20);
}

}  // namespace
}  // namespace casemate::tree
