#include "casemate/push.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/mutex.h"
#include "casemate/stores.h"
#include "testing/counting_store.h"
#include "testing/failing_store.h"
#include "testing/temp_dir.h"
#include "tree/lookup.h"

namespace casemate {
namespace {

using testing::TempDir;
using testing::WriteFile;

constexpr size_t kLarge = 3 << 20;  // Not kept in memory by a capture.

// What Push is tried with: resources, a memory store and a tree to fill.
class PushTest : public ::testing::Test {
 protected:
  Result<PushResult> PushTree(BlobStore& store, const PushOptions& options = {},
                              const Context& ctx = {}) {
    return Push(ctx, resources_, store, tree_.path(), options);
  }

  Resources resources_;
  const std::unique_ptr<BlobStore> memory_ = MakeMemoryStore();
  const TempDir tree_;
};

TEST_F(PushTest, StoresOnlyWhatIsMissing) {
  WriteFile(tree_ / "a", "one");
  WriteFile(tree_ / "b", std::string(kLarge, 'x'));
  const PushResult first = PushTree(*memory_).value();
  EXPECT_EQ(first.blobs_stored, 3);
  WriteFile(tree_ / "c", "two");
  const PushResult second = PushTree(*memory_).value();
  EXPECT_EQ(second.blobs_stored, 2);  // The file and the directory.
  EXPECT_EQ(PushTree(*memory_)->blobs_stored, 0);
}

TEST_F(PushTest, StoresEqualFilesOnce) {
  for (int i = 0; i < 50; ++i) {
    WriteFile(tree_ / std::to_string(i), "the same");
  }
  Resources one_job({.jobs = 1});  // Else two uploads may meet.
  const PushResult result = Push({}, one_job, *memory_, tree_.path()).value();
  EXPECT_EQ(result.files, 50);
  EXPECT_EQ(result.bytes_stored, 8 + result.root.size());
}

TEST_F(PushTest, GathersSmallBlobsIntoFewCalls) {
  for (int i = 0; i < 1000; ++i) {
    WriteFile(tree_ / std::to_string(i), std::to_string(i));
  }
  testing::CountingStore counting(*memory_);
  ASSERT_TRUE(PushTree(counting));
  EXPECT_EQ(counting.put, 0);
  EXPECT_LT(counting.put_many, 100);
  EXPECT_EQ(counting.given, 1001);
}

TEST_F(PushTest, OfADryRunStoresNothingAndSaysWhatItWould) {
  WriteFile(tree_ / "a", "one");
  WriteFile(tree_ / "b", std::string(kLarge, 'x'));
  const PushResult result = PushTree(*memory_, {.dry_run = true}).value();
  EXPECT_EQ(result.blobs_stored, 3);
  EXPECT_EQ(memory_->FindMissing({}, std::span(&result.root, 1))->size(), 1u);
}

TEST_F(PushTest, EndsWithTheErrorOfTheStore) {
  WriteFile(tree_ / "a", "one");
  WriteFile(tree_ / "b", std::string(kLarge, 'x'));
  testing::FailingStore failing(Code::kUnavailable);
  EXPECT_EQ(PushTree(failing).error().code, Code::kUnavailable);
}

TEST_F(PushTest, EndsWhenItIsCancelled) {
  WriteFile(tree_ / "a", "one");
  std::stop_source source;
  source.request_stop();
  Context ctx;
  ctx.stop = source.get_token();
  EXPECT_EQ(PushTree(*memory_, {}, ctx).error().code, Code::kCancelled);
}

TEST_F(PushTest, FailsIfTheDirectoryItselfIsMissing) {
  const auto pushed = Push({}, resources_, *memory_, tree_ / "no");
  EXPECT_EQ(pushed.error().code, Code::kNotFound);
}

TEST_F(PushTest, RefusesAPatternItCannotRead) {
  const auto pushed =
      PushTree(*memory_, {.rules = {{.include = false, .pattern = "["}}});
  EXPECT_EQ(pushed.error().code, Code::kInvalidArgument);
}

// A store that changes a file just before it reads it, the first `times` times.
class MeddlingStore : public testing::CountingStore {
 public:
  MeddlingStore(BlobStore& inner, std::string file, int times)
      : CountingStore(inner), file_(std::move(file)), times_(times) {}

  Result<void> Put(const Context& ctx, const Digest& digest,
                   const Source& source) override {
    if (put < times_) {
      const auto filling = static_cast<char>('a' + put);
      WriteFile(file_,
                std::string(kLarge + static_cast<size_t>(put) + 1, filling));
    }
    return CountingStore::Put(ctx, digest, source);
  }

 private:
  const std::string file_;
  const int times_;
};

TEST_F(PushTest, ReadsALargeFileAgainThatChangedSinceItWasDigested) {
  WriteFile(tree_ / "large", std::string(kLarge, 'x'));
  MeddlingStore meddling(*memory_, tree_ / "large", 1);
  const PushResult result = PushTree(meddling).value();
  EXPECT_TRUE(result.failed.empty());
  const auto directory = tree::FetchDirectory({}, *memory_, result.root);
  EXPECT_EQ(directory->files.at(0).digest.size(),
            static_cast<int64_t>(kLarge + 1));
  EXPECT_TRUE(memory_->Get({}, directory->files.at(0).digest, 0));
}

TEST_F(PushTest, LeavesOutALargeFileThatKeepsChanging) {
  WriteFile(tree_ / "large", std::string(kLarge, 'x'));
  WriteFile(tree_ / "small", "kept");
  MeddlingStore meddling(*memory_, tree_ / "large", 100);
  const PushResult result = PushTree(meddling).value();
  ASSERT_EQ(result.failed.size(), 1u);
  EXPECT_EQ(result.failed[0].path, "large");
  EXPECT_EQ(result.failed[0].error.code, Code::kFailedPrecondition);
  const auto directory = tree::FetchDirectory({}, *memory_, result.root);
  ASSERT_EQ(directory->files.size(), 1u);
  EXPECT_EQ(directory->files[0].name, "small");
}

TEST_F(PushTest, GoesOnWithLessMemoryThanTheTreeHas) {
  for (int i = 0; i < 40; ++i) {
    WriteFile(tree_ / std::to_string(i),
              std::string(900'000, static_cast<char>('a' + i)));
  }
  Resources small({.memory_bytes = ResourceOptions::kLeastMemory, .jobs = 2});
  const auto pushed = Push({}, small, *memory_, tree_.path());
  EXPECT_EQ(pushed->blobs_stored, 41);
}

// Remembers the last progress it was told of.
class Watcher : public ProgressListener {
 public:
  void OnProgress(const Progress& progress) override {
    if (!progress.finished) return;
    last_ = progress;
    finished_.request_stop();
  }
  Progress WaitForEnd() {
    base::Mutex mutex;
    base::CondVar variable;
    Context ctx;
    ctx.stop = finished_.get_token();
    base::WakeOnStop wake(ctx, mutex, variable);
    base::MutexLock lock(mutex);
    while (ctx.Check()) variable.Wait(mutex);
    return last_;
  }

 private:
  std::stop_source finished_;
  Progress last_;
};

TEST_F(PushTest, TellsItsListenerTheTotalsAtTheEnd) {
  WriteFile(tree_ / "a", "one");
  WriteFile(tree_ / "b", std::string(kLarge, 'x'));
  const auto watcher = std::make_shared<Watcher>();
  ASSERT_TRUE(PushTree(*memory_, {.listener = watcher}));
  const Progress last = watcher->WaitForEnd();
  EXPECT_EQ(last.files_done, 2);
  EXPECT_EQ(last.files_found, 2);
  EXPECT_EQ(last.bytes_done, static_cast<int64_t>(kLarge) + 3);
}

}  // namespace
}  // namespace casemate
