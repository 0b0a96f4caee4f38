// What a disk store does about blobs that are damaged.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "files/sys.h"
#include "store/for_test.h"
#include "testing/store_helpers.h"

namespace casemate::store {
namespace {

using testing::Has;
using testing::MustPut;
using testing::MustRead;
using testing::RandomText;
using testing::ReadFrom;

// One of each way to read a blob.
Code CodeOfGet(DiskStore& store, const Digest& digest) {
  const auto text = ReadFrom(store, digest);
  return text ? Code::kOk : text.error().code;
}
Code CodeOfGetFromTheMiddle(DiskStore& store, const Digest& digest) {
  const auto text = ReadFrom(store, digest, 1);
  return text ? Code::kOk : text.error().code;
}
Code CodeOfGetMany(DiskStore& store, const Digest& digest) {
  const auto blob = std::move(store.GetMany({}, std::span(&digest, 1))[0]);
  return blob ? Code::kOk : blob.error().code;
}

using Read = Code (*)(DiskStore&, const Digest&);
class DamagedBlob : public ::testing::TestWithParam<Read> {};
INSTANTIATE_TEST_SUITE_P(HoweverRead, DamagedBlob,
                         ::testing::Values(&CodeOfGet, &CodeOfGetFromTheMiddle,
                                           &CodeOfGetMany));

TEST_P(DamagedBlob, IsReportedOnceThenAbsentThenHealed) {
  StoreFolder folder;
  const Digest digest = MustPut(*folder.Open(), "hello");
  folder.Overwrite(digest, "hallo");
  const auto store = folder.Open();
  EXPECT_TRUE(Has(*store, digest)) << "its size is right";
  EXPECT_EQ(GetParam()(*store, digest), Code::kDataLoss);
  EXPECT_EQ(GetParam()(*store, digest), Code::kNotFound);
  EXPECT_FALSE(Has(*store, digest));
  EXPECT_EQ(folder.CountFiles("damaged"), 1u);
  MustPut(*store, "hello");
  EXPECT_EQ(GetParam()(*store, digest), Code::kOk);
}

TEST_P(DamagedBlob, IsReportedOnceIfItsSizeIsWrong) {
  for (const char* const text : {"hell", "hello!", ""}) {
    StoreFolder folder;
    const auto store = folder.Open();
    const Digest digest = MustPut(*store, "hello");
    folder.Overwrite(digest, text);
    EXPECT_EQ(GetParam()(*store, digest), Code::kDataLoss);
    EXPECT_EQ(GetParam()(*store, digest), Code::kNotFound);
  }
}

TEST_P(DamagedBlob, IsNoticedAlsoAfterItWasTrusted) {
  StoreFolder folder;
  FakeClock clock;
  const auto store = folder.Open(clock);
  const Digest digest = MustPut(*store, "hello");
  clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(GetParam()(*store, digest), Code::kOk);
  folder.Overwrite(digest, "hallo");
  EXPECT_EQ(GetParam()(*store, digest), Code::kDataLoss);
}

TEST(DiskStore, FindsABlobOfTheWrongSizeMissingAndMovesItAside) {
  StoreFolder folder;
  const auto store = folder.Open();
  const Digest digest = MustPut(*store, "hello");
  folder.Overwrite(digest, "hell");
  EXPECT_FALSE(Has(*store, digest));
  EXPECT_EQ(folder.CountFiles("damaged"), 1u);
  EXPECT_EQ(store->ApproximateBytes(), 1) << "5 were added, 4 removed";
}

TEST(DiskStore, HealsABlobOfTheWrongSizeThatAppearsWhileItIsStored) {
  StoreFolder folder;
  const auto store = folder.Open();
  const Digest digest = MustPut(*store, "hello");
  const auto writer =
      store->StartWrite({}, digest, "", Encoding::kIdentity).value();
  EXPECT_TRUE(writer->Write({}, AsBytes("hello")));
  folder.Overwrite(digest, "");
  EXPECT_TRUE(writer->Commit({}));
  EXPECT_EQ(MustRead(*store, digest), "hello");
}

TEST(DiskStore, HandsOutNoLastBytesOfADamagedBlob) {
  StoreFolder folder;
  const std::string text = RandomText(100'000);
  const Digest digest = MustPut(*folder.Open(), text);
  folder.Overwrite(digest, "x" + text.substr(1));
  const auto store = folder.Open();
  const auto reader = store->Get({}, digest, 0).value();
  std::vector<std::byte> buffer(60'000);
  EXPECT_EQ(reader->Read({}, buffer).value(), 60'000u);
  EXPECT_EQ(reader->Read({}, buffer).error().code, Code::kDataLoss);
}

TEST(DiskStore, NoticesABlobThatIsCutShortWhileItIsRead) {
  StoreFolder folder;
  const auto store = folder.Open();
  const Digest digest = MustPut(*store, RandomText(100'000));
  const auto reader = store->Get({}, digest, 0).value();
  std::vector<std::byte> buffer(60'000);
  EXPECT_TRUE(reader->Read({}, buffer));
  std::filesystem::resize_file(folder.PathOf(digest), 60'000);
  EXPECT_EQ(reader->Read({}, buffer).error().code, Code::kDataLoss);
  EXPECT_FALSE(Has(*store, digest));
}

TEST(DiskStore, DoesNotMoveAsideAHealedBlobForItsDamagedPredecessor) {
  StoreFolder folder;
  const Digest digest = MustPut(*folder.Open(), "hello");
  folder.Overwrite(digest, "hallo");
  const auto store = folder.Open();
  const auto reader = store->Get({}, digest, 0).value();
  std::filesystem::remove(folder.PathOf(digest));
  MustPut(*store, "hello");
  std::byte buffer[10];
  EXPECT_EQ(reader->Read({}, buffer).error().code, Code::kDataLoss);
  EXPECT_EQ(MustRead(*store, digest), "hello");
}

// Reading from the middle passes over all of a blob that is not trusted, and
// only over its end if it is.
bool IsTrusted(DiskStore& store, const Digest& digest) {
  std::atomic<int64_t> reads = 0;
  files::sys::FaultInjector count({.done = [&](const files::sys::Call& call) {
    if (call.name == "pread") ++reads;
  }});
  const auto reader = store.Get({}, digest, digest.size()).value();
  return reads == 0;
}

TEST(DiskStore, TrustsWhatItHasHashed) {
  StoreFolder folder;
  FakeClock clock;
  const auto store = folder.Open(clock);
  const Digest digest = MustPut(*store, "hello");
  clock.Advance(std::chrono::seconds(1));
  EXPECT_FALSE(IsTrusted(*store, digest));
  EXPECT_TRUE(IsTrusted(*store, digest));
  EXPECT_FALSE(IsTrusted(*folder.Open(clock), digest)) << "another process";
}

TEST(DiskStore, TrustsAlsoWhatItMarksAsUsed) {
  StoreFolder folder;
  FakeClock clock;
  const auto store = folder.Open(clock);
  const Digest digest = MustPut(*store, "hello");
  clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(MustRead(*store, digest), "hello");
  clock.Advance(std::chrono::hours(2));
  EXPECT_TRUE(Has(*store, digest)) << "sets atime, and so ctime";
  EXPECT_TRUE(IsTrusted(*store, digest));
}

TEST(DiskStore, DoesNotTrustABlobThatHasJustChanged) {
  StoreFolder folder;
  FakeClock clock;  // It stands still, so that the file stays fresh.
  const auto store = folder.Open(clock);
  const Digest digest = MustPut(*store, "hello");
  EXPECT_EQ(MustRead(*store, digest), "hello");
  EXPECT_FALSE(IsTrusted(*store, digest));
}

TEST(DiskStore, DoesNotTakeAFileCutToNothingForABlobOfNoBytes) {
  StoreFolder folder;
  const auto store = folder.Open();
  const Digest digest = MustPut(*store, "hello");
  folder.Overwrite(digest, "");
  const Digest wrong(digest.function(), digest.hash(), 0);
  EXPECT_FALSE(Has(*store, wrong));
  EXPECT_EQ(ReadFrom(*store, wrong).error().code, Code::kNotFound);
}

TEST(DiskStore, IsNotTalkedIntoMovingAsideAGoodBlob) {
  StoreFolder folder;
  const auto store = folder.Open();
  const Digest digest = MustPut(*store, "hello");
  const Digest wrong(digest.function(), digest.hash(), 6);
  EXPECT_FALSE(Has(*store, wrong));
  EXPECT_EQ(store->Get({}, wrong, 0).error().code, Code::kNotFound);
  EXPECT_EQ(folder.CountFiles("damaged"), 0u);
  EXPECT_TRUE(Has(*store, digest));
}

}  // namespace
}  // namespace casemate::store
