// gc, verify and the locks of a disk store.
#include "store/disk_gc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "files/sys.h"
#include "store/disk_folder.h"
#include "store/file_lock.h"
#include "store/for_test.h"
#include "testing/store_helpers.h"

namespace casemate::store {
namespace {

using testing::DigestOf;
using ::testing::ElementsAre;
using testing::Has;
using ::testing::IsEmpty;
using testing::MustPut;
using testing::MustRead;

constexpr int64_t kNow = 2'000'000'000;

// Blobs "0" to "4", of one byte each; "0" was unused for longest.
class Gc : public ::testing::Test {
 protected:
  Gc() {
    for (int i = 0; i < 5; ++i) {
      blobs_.push_back(MustPut(*store_, std::to_string(i)));
      folder_.SetLastUse(blobs_.back(), kNow - 100 + i);
    }
  }

  std::string Kept() {
    std::string kept;
    for (size_t i = 0; i < blobs_.size(); ++i) {
      if (std::filesystem::exists(folder_.PathOf(blobs_[i]))) {
        kept += std::to_string(i);
      }
    }
    return kept;
  }

  StoreFolder folder_;
  const std::unique_ptr<DiskStore> store_ = folder_.Open();
  std::vector<Digest> blobs_;
};

TEST_F(Gc, RemovesNothingWithinTheLimits) {
  const GcReport report = store_->Gc({}, {.max_bytes = 5}).value();
  EXPECT_EQ(report.blobs_before, 5);
  EXPECT_EQ(report.bytes_before, 5);
  EXPECT_EQ(report.blobs_removed, 0);
  EXPECT_EQ(Kept(), "01234");
}

TEST_F(Gc, RemovesFirstWhatWasUnusedForLongest) {
  const GcReport report = store_->Gc({}, {.max_bytes = 3}).value();
  EXPECT_EQ(report.blobs_removed, 2);
  EXPECT_EQ(report.bytes_removed, 2);
  EXPECT_EQ(Kept(), "234");
  EXPECT_EQ(store_->ApproximateBytes(), 3);
}

TEST_F(Gc, RemovesNoMoreThanNeededOfOneSecond) {
  for (const Digest& each : blobs_) folder_.SetLastUse(each, kNow - 50);
  EXPECT_EQ(store_->Gc({}, {.max_bytes = 2}).value().blobs_removed, 3);
  EXPECT_EQ(Kept().size(), 2u);
}

TEST_F(Gc, RemovesEverythingIfToldTo) {
  EXPECT_EQ(store_->Gc({}, {.max_bytes = 0}).value().blobs_removed, 5);
  EXPECT_EQ(Kept(), "");
}

TEST_F(Gc, RemovesWhatWasUnusedForLongerThanTheAge) {
  const auto seconds_ago = [](int64_t time) {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
               .count() -
           time;
  };
  folder_.SetLastUse(blobs_[0], seconds_ago(1000));
  folder_.SetLastUse(blobs_[1], seconds_ago(100));
  for (size_t i = 2; i < 5; ++i) {
    folder_.SetLastUse(blobs_[i], seconds_ago(0));
  }
  EXPECT_TRUE(store_->Gc({}, {.older_than_seconds = 500}));
  EXPECT_EQ(Kept(), "1234");
}

TEST_F(Gc, SparesWhatWasUsedSinceATime) {
  constexpr int64_t kHour = 3600;  // Uses are recorded that coarsely.
  EXPECT_TRUE(
      store_->Gc({}, {.max_bytes = 0, .spare_used_since = kNow - 98 + kHour}));
  EXPECT_EQ(Kept(), "234");
}

TEST_F(Gc, OnlyReportsInADryRun) {
  const GcReport report =
      store_->Gc({}, {.max_bytes = 2, .dry_run = true}).value();
  EXPECT_EQ(report.blobs_removed, 3);
  EXPECT_EQ(Kept(), "01234");
}

TEST_F(Gc, RemovesWhatWasMovedAside) {
  folder_.Overwrite(blobs_[0], "x");
  EXPECT_EQ(testing::ReadFrom(*store_, blobs_[0]).error().code,
            Code::kDataLoss);
  testing::WriteFile(folder_.path() + "/damaged/notes", "mine");
  EXPECT_EQ(folder_.CountFiles("damaged"), 2u);
  EXPECT_TRUE(store_->Gc({}, {.dry_run = true}));
  EXPECT_EQ(folder_.CountFiles("damaged"), 2u);
  EXPECT_TRUE(store_->Gc({}, {}));
  EXPECT_EQ(folder_.CountFiles("damaged"), 1u);
}

TEST_F(Gc, StopsWhenItIsCancelled) {
  EXPECT_EQ(store_->Gc(testing::Cancelled(), {.max_bytes = 0}).error().code,
            Code::kCancelled);
  EXPECT_EQ(Kept(), "01234");
}

TEST_F(Gc, IsRefusedWhileAnotherProcessHasTheStoreOpen) {
  auto other = folder_.Open();
  const auto report = store_->Gc({}, {.max_bytes = 0});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::kFailedPrecondition);
  EXPECT_NE(report.error().message.find("in use"), std::string::npos);
  EXPECT_EQ(store_->VerifyAll({}).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(MustRead(*store_, blobs_[0]), "0");
  other.reset();
  const DiskFolder third = OpenDiskFolder(folder_.path(), {}).value();
  EXPECT_FALSE(LockAlone(third)) << "store_ no longer holds its own lock";
}

TEST_F(Gc, MayBeTriedAgain) {
  auto other = folder_.Open();
  EXPECT_FALSE(store_->Gc({}, {}));
  other.reset();
  EXPECT_TRUE(store_->Gc({}, {}));
}

TEST_F(Gc, GivesTheStoreBackToOthers) {
  EXPECT_TRUE(store_->Gc({}, {}));
  EXPECT_TRUE(store_->VerifyAll({}));
  EXPECT_TRUE(folder_.TryOpen());
}

TEST(DiskStore, CannotBeOpenedWhileGcHoldsIt) {
  StoreFolder folder;
  folder.Open();
  const DiskFolder other = OpenDiskFolder(folder.path(), {}).value();
  ASSERT_TRUE(LockAlone(other));
  const auto store = folder.TryOpen();
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kFailedPrecondition);
  ASSERT_TRUE(LockShared(other));
  EXPECT_TRUE(folder.TryOpen());
}

TEST(DiskStore, MarksWhatIsFoundOrReadAsUsed) {
  StoreFolder folder;
  const auto store = folder.Open();
  const Digest found = MustPut(*store, "found"), read = MustPut(*store, "read");
  const Digest got = MustPut(*store, "got"), idle = MustPut(*store, "idle");
  for (const Digest& each : {found, read, got, idle}) {
    folder.SetLastUse(each, 1'000'000);
  }
  EXPECT_TRUE(Has(*store, found));
  EXPECT_EQ(MustRead(*store, read), "read");
  EXPECT_TRUE(store->GetMany({}, std::span(&got, 1))[0]);
  for (const Digest& each : {found, read, got}) {
    EXPECT_GT(folder.LastUse(each), 1'000'000'000);
  }
  EXPECT_EQ(folder.LastUse(idle), 1'000'000);
}

TEST(Verify, CountsWhatIsRight) {
  StoreFolder folder;
  const auto store = folder.Open();
  for (const char* const text : {"a", "bc", "def"}) MustPut(*store, text);
  EXPECT_TRUE(store->Put({}, DigestOf("gh", DigestFunction::kSha512),
                         testing::TextSource("gh")));
  const VerifyReport report = store->VerifyAll({}).value();
  EXPECT_EQ(report.blobs, 4);
  EXPECT_EQ(report.bytes, 8);
  EXPECT_THAT(report.damaged, IsEmpty());
  EXPECT_THAT(report.foreign, IsEmpty());
}

TEST(Verify, MovesAsideWhatIsDamaged) {
  StoreFolder folder;
  const auto store = folder.Open();
  const Digest right = MustPut(*store, "right");
  const Digest wrong = MustPut(*store, "wrong");
  folder.Overwrite(wrong, "wrung");
  const VerifyReport report = store->VerifyAll({}).value();
  EXPECT_THAT(report.damaged, ElementsAre(wrong.ToString()));
  EXPECT_FALSE(Has(*store, wrong));
  EXPECT_EQ(MustRead(*store, right), "right");
  EXPECT_THAT(store->VerifyAll({}).value().damaged, IsEmpty());
}

TEST(Verify, GoesOnWhenTheDiskCannotReadABlob) {
  StoreFolder folder;
  const auto store = folder.Open();
  MustPut(*store, "one");
  MustPut(*store, "two");
  files::sys::FaultInjector faults(
      {.nth = 1, .counts = [](const files::sys::Call& call) {
         return call.name == "pread";
       }});
  const VerifyReport report = store->VerifyAll({}).value();
  EXPECT_EQ(report.blobs, 2);
  EXPECT_EQ(report.damaged.size(), 1u);
  EXPECT_EQ(folder.CountFiles("damaged"), 1u);
}

TEST(Verify, ListsWhatIsForeign) {
  StoreFolder folder;
  const auto store = folder.Open();
  MustPut(*store, "hello");
  for (const char* const path :
       {"/README", "/cas/README", "/cas/sha256/README", "/cas/sha256/2c/x"}) {
    testing::WriteFile(folder.path() + path, "");
  }
  std::filesystem::create_symlink("x", folder.path() + "/cas/sha256/zz");
  EXPECT_THAT(store->VerifyAll({}).value().foreign,
              ElementsAre("README", "cas/README", "cas/sha256/2c/x",
                          "cas/sha256/README", "cas/sha256/zz"));
}

TEST(Verify, DoesNotCountAsAUse) {
  StoreFolder folder;
  const auto store = folder.Open();
  const Digest digest = MustPut(*store, "hello");
  folder.SetLastUse(digest, 1'000'000);
  EXPECT_TRUE(store->VerifyAll({}));
  EXPECT_EQ(folder.LastUse(digest), 1'000'000);
}

}  // namespace
}  // namespace casemate::store
