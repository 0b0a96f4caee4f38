// TryGet: what the disk store answers without waiting.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>

#include "files/root.h"
#include "files/sys.h"
#include "store/for_test.h"
#include "testing/store_helpers.h"

namespace casemate::store {
namespace {

using files::sys::Call;
using files::sys::FaultInjector;
using testing::DigestOf;
using testing::Has;
using testing::MustPut;
using testing::MustRead;
using testing::RandomText;

class DiskTryGet : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!files::sys::HasOpenAt2()) GTEST_SKIP() << "this kernel has no openat2";
    clock_.Advance(std::chrono::minutes(1));  // What is written now is old.
  }

  Digest PutAndRead(const std::string& text) {
    const Digest digest = MustPut(*store_, text);
    EXPECT_EQ(MustRead(*store_, digest), text);
    return digest;
  }

  bool TriesInVain(const Digest& digest) {
    return !store_->TryGet(digest, 0, {}).has_value();
  }

  StoreFolder folder_;
  FakeClock clock_;
  const std::unique_ptr<DiskStore> store_ = folder_.Open(clock_);
};

TEST_F(DiskTryGet, ReadsABlobThatHasBeenReadBefore) {
  const std::string text = RandomText(10'000);
  const Digest digest = PutAndRead(text);
  auto reader = store_->TryGet(digest, 1000, {.zstd = true});
  ASSERT_TRUE(reader && *reader);
  EXPECT_EQ((**reader)->TryNext(5000)->value().view(), text.substr(1000, 5000));
  EXPECT_EQ((**reader)->TryNext(5000)->value().view(), text.substr(6000));
  EXPECT_TRUE((**reader)->TryNext(5000)->value().empty());
}

TEST_F(DiskTryGet, LeavesToGetWhatIsNotTrustedYet) {
  const Digest digest = MustPut(*store_, "hello");
  EXPECT_TRUE(TriesInVain(digest));
  const auto reader = store_->Get({}, digest, 0).value();
  EXPECT_FALSE(reader->TryNext(100));
  EXPECT_EQ(reader->Next({}, 100)->view(), "hello");
  EXPECT_FALSE(TriesInVain(digest));
}

TEST_F(DiskTryGet, LeavesToGetAFileThatHasChanged) {
  const Digest digest = PutAndRead("hello");
  folder_.Overwrite(digest, "hallo");
  EXPECT_TRUE(TriesInVain(digest));
  folder_.Overwrite(digest, "hello, world");
  EXPECT_TRUE(TriesInVain(digest));
}

TEST_F(DiskTryGet, LeavesToGetWhatMustBeMarkedAsUsed) {
  const Digest digest = PutAndRead("hello");
  clock_.Advance(std::chrono::hours(2));
  EXPECT_TRUE(TriesInVain(digest));
  EXPECT_EQ(MustRead(*store_, digest), "hello");
  EXPECT_FALSE(TriesInVain(digest));
}

TEST_F(DiskTryGet, SaysNotFoundOfWhatIsKnownToBeAbsent) {
  const Digest near = PutAndRead("hello");
  std::filesystem::remove(folder_.PathOf(near));
  EXPECT_FALSE(Has(*store_, near));
  const auto absent = store_->TryGet(near, 0, {});
  // tmpfs does not remember what it has not got.
  const auto root = files::Root::Open(folder_.path()).value();
  ASSERT_NE(absent.has_value(), root.OpenDirectory("")->IsInMemory().value());
  EXPECT_TRUE(!absent || absent->error().code == Code::kNotFound);
}

TEST_F(DiskTryGet, RefusesOffsetsOutsideTheBlob) {
  const Digest digest = PutAndRead("hello");
  EXPECT_EQ(store_->TryGet(digest, 6, {})->error().code, Code::kOutOfRange);
  EXPECT_EQ(store_->TryGet(digest, -1, {})->error().code, Code::kOutOfRange);
}

TEST_F(DiskTryGet, AlwaysHasTheEmptyBlob) {
  auto reader = store_->TryGet(DigestOf(""), 0, {});
  ASSERT_TRUE(reader && *reader);
  EXPECT_TRUE((**reader)->TryNext(100)->value().empty());
}

TEST_F(DiskTryGet, GivesUpWhereThePathIsNotInTheKernelsCaches) {
  const Digest digest = PutAndRead("hello");
  for (const int error : {EAGAIN, EINVAL, EMFILE, ELOOP, EXDEV}) {
    FaultInjector faults(
        {.nth = 1, .error = error, .counts = [](const Call& call) {
           return call.name == "openat2";
         }});
    EXPECT_TRUE(TriesInVain(digest));
    EXPECT_EQ(faults.calls(), 1) << "it was tried again";
  }
}

TEST_F(DiskTryGet, GivesUpWhereBytesAreNotInThePageCache) {
  const Digest digest = PutAndRead("hello");
  const auto reader = std::move(*store_->TryGet(digest, 0, {})).value();
  for (const int error : {EAGAIN, EOPNOTSUPP, EIO}) {
    FaultInjector faults(
        {.nth = 1, .error = error, .counts = [](const Call& call) {
           return call.name.starts_with("pread");
         }});
    EXPECT_FALSE(reader->TryNext(100));
  }
  EXPECT_EQ(reader->Next({}, 100)->view(), "hello");
}

TEST_F(DiskTryGet, TakesOneOpenOneStatOneReadAndOneClose) {
  const Digest digest = PutAndRead("hello");
  std::string calls;
  FaultInjector watch({.before = [&](const Call& call) {
    calls += std::string(call.name.substr(0, 5)) + " ";
  }});
  const auto reader = std::move(*store_->TryGet(digest, 0, {})).value();
  ASSERT_TRUE(reader->TryNext(100));
  EXPECT_EQ(calls, "opena fstat pread ");
}

TEST_F(DiskTryGet, HoldsNoDescriptorOfWhatItDoesNotOpen) {
  const Digest digest = PutAndRead("hello");
  folder_.Overwrite(digest, "hallo");
  const size_t before = CountDescriptors();
  EXPECT_TRUE(TriesInVain(digest));
  EXPECT_EQ(CountDescriptors(), before);
}

}  // namespace
}  // namespace casemate::store
