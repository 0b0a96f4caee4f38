// The disk store when system calls fail: each in turn, once and for good.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "digest/hasher.h"
#include "files/sys.h"
#include "store/for_test.h"
#include "testing/store_helpers.h"

namespace casemate::store {
namespace {

using files::sys::Call;
using files::sys::FaultInjector;
using testing::BlobOf;
using testing::DigestOf;
using testing::MustPut;
using testing::RandomText;
using testing::ReadFrom;
using testing::TextSource;

// What an operation acknowledged.
using Acknowledged = std::vector<Digest>;
using Operation = std::function<Acknowledged(DiskStore&)>;

std::vector<std::string> Texts() {
  return {RandomText(10), RandomText(5000), "", "x" + std::string(9000, '\0')};
}

// Two blocks, where it is kept as zstd.
std::string LongText() {
  return RandomText(300'000) + std::string(1'000'000, 'a');
}

Acknowledged PutOne(DiskStore& store) {
  const std::string text = LongText();
  const Digest digest = DigestOf(text);
  if (store.Put({}, digest, TextSource(text))) return {digest};
  return {};
}

Acknowledged PutSome(DiskStore& store) {
  std::vector<Blob> blobs;
  for (const std::string& text : Texts()) blobs.push_back(BlobOf(text));
  const auto results = store.PutMany({}, blobs);
  Acknowledged done;
  for (size_t i = 0; i < blobs.size(); ++i) {
    if (results[i]) done.push_back(blobs[i].digest());
  }
  return done;
}

Acknowledged WriteAndCommit(DiskStore& store) {
  const std::string text = RandomText(10'000);
  const Digest digest = DigestOf(text);
  const auto writer = store.StartWrite({}, digest, "", Encoding::kIdentity);
  if (!writer) return {};
  for (const std::string& half : {text.substr(0, 5000), text.substr(5000)}) {
    if (!(*writer)->Write({}, AsBytes(half))) return {};
  }
  if ((*writer)->Commit({})) return {digest};
  return {};
}

// Cut within a frame, and continued.
Acknowledged WriteFramesTwice(DiskStore& store) {
  const std::string text = LongText();
  const std::string frame = testing::Zstd(text);
  auto first = store.StartWrite({}, DigestOf(text), "id", Encoding::kZstd);
  if (first) (void)(*first)->Write({}, AsBytes(frame.substr(0, 200'000)));
  first = Error{Code::kUnknown, ""};
  const auto writer =
      store.StartWrite({}, DigestOf(text), "id", Encoding::kZstd);
  if (!writer) return {};
  const auto offset = static_cast<size_t>((*writer)->offset());
  const std::string rest = testing::Zstd(text.substr(offset));
  if (!(*writer)->Write({}, AsBytes(rest))) return {};
  if ((*writer)->Commit({})) return {DigestOf(text)};
  return {};
}

Acknowledged PutFrames(DiskStore& store) {
  const std::string text = LongText();
  const TextSource source(testing::Zstd(text), Encoding::kZstd);
  if (store.Put({}, DigestOf(text), source)) return {DigestOf(text)};
  return {};
}

Acknowledged CollectNothing(DiskStore& store) {
  (void)store.Gc({}, {.max_bytes = 1 << 20});
  return {};
}

Acknowledged Find(DiskStore& store) {
  const Digest here = DigestOf("here before");
  const auto missing = store.FindMissing({}, std::span(&here, 1));
  EXPECT_TRUE(!missing || missing->empty()) << "a failure is not an absence";
  return {};
}

// A blob is right, or it is not there.
void ExpectRightOrAbsent(DiskStore& store, const Digest& digest) {
  const auto text = ReadFrom(store, digest);
  if (text) {
    EXPECT_EQ(DigestOf(*text), digest);
  } else {
    EXPECT_EQ(text.error().code, Code::kNotFound) << text.error().message;
  }
}

std::vector<Digest> AllPossible() {
  std::vector<Digest> all = {DigestOf(LongText()),
                             DigestOf(RandomText(10'000))};
  for (const std::string& text : Texts()) all.push_back(DigestOf(text));
  return all;
}

// Whether the plan met a call to fail.
bool RunOnce(Encoding at_rest, const Operation& operation,
             const files::sys::FaultPlan& plan, bool can_clean_up) {
  StoreFolder folder(at_rest);
  auto store = folder.Open();
  const Digest before = MustPut(*store, "here before");
  const size_t descriptors = CountDescriptors();
  Acknowledged done;
  bool fired = false;
  {
    FaultInjector faults(plan);
    done = operation(*store);
    fired = faults.fired();
  }
  EXPECT_EQ(CountDescriptors(), descriptors);
  EXPECT_TRUE(!can_clean_up || folder.CountFiles("tmp") == 0);
  store = nullptr;  // So that nothing is trusted.
  store = folder.Open();
  EXPECT_EQ(folder.CountFiles("tmp"), 0u);
  EXPECT_EQ(folder.CountFiles("damaged"), 0u);
  EXPECT_EQ(ReadFrom(*store, before).value(), "here before");
  for (const Digest& digest : done) EXPECT_TRUE(ReadFrom(*store, digest));
  for (const Digest& digest : AllPossible()) {
    ExpectRightOrAbsent(*store, digest);
  }
  return fired;
}

void SweepWith(Encoding at_rest, const Operation& operation,
               files::sys::FaultPlan plan) {
  for (plan.nth = 1;; ++plan.nth) {
    SCOPED_TRACE("call " + std::to_string(plan.nth) + " fails" +
                 (plan.for_good ? " for good" : ""));
    if (!RunOnce(at_rest, operation, plan, !plan.for_good)) break;
    ASSERT_LT(plan.nth, 1000);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

class DiskStoreFaultSweep : public ::testing::TestWithParam<Encoding> {};
INSTANTIATE_TEST_SUITE_P(AtRest, DiskStoreFaultSweep,
                         ::testing::Values(Encoding::kIdentity,
                                           Encoding::kZstd));

void Sweep(Encoding at_rest, const Operation& operation) {
  SweepWith(at_rest, operation, {.error = ENOSPC, .for_good = true});
  // That a temporary file cannot be removed cannot be made up for.
  SweepWith(at_rest, operation, {.error = EIO, .counts = [](const Call& call) {
                                   return call.name != "unlinkat";
                                 }});
}

TEST_P(DiskStoreFaultSweep, PutLosesLeaksAndShowsNothing) {
  Sweep(GetParam(), PutOne);
}
TEST_P(DiskStoreFaultSweep, PutOfFramesLosesLeaksAndShowsNothing) {
  Sweep(GetParam(), PutFrames);
}
TEST_P(DiskStoreFaultSweep, PutManyLosesLeaksAndShowsNothing) {
  Sweep(GetParam(), PutSome);
}
TEST_P(DiskStoreFaultSweep, WritersLoseLeakAndShowNothing) {
  Sweep(GetParam(), WriteAndCommit);
}
TEST_P(DiskStoreFaultSweep, ContinuedWritersLoseLeakAndShowNothing) {
  Sweep(GetParam(), WriteFramesTwice);
}
TEST_P(DiskStoreFaultSweep, GcLosesAndLeaksNothing) {
  Sweep(GetParam(), CollectNothing);
}
TEST_P(DiskStoreFaultSweep, FindMissingLosesAndLeaksNothing) {
  Sweep(GetParam(), Find);
}

TEST_P(DiskStoreFaultSweep, OpeningFailsOrWorks) {
  for (int64_t n = 1, more = true; more; ++n) {
    StoreFolder folder(GetParam());
    const size_t descriptors = CountDescriptors();
    {
      FaultInjector faults({.nth = n});
      const auto store = folder.TryOpen();
      if (store) (void)PutOne(**store);
      more = faults.fired();
    }
    EXPECT_EQ(CountDescriptors(), descriptors);
    const auto again = folder.TryOpen();
    ASSERT_TRUE(again) << n << ": " << again.error().message;
    EXPECT_EQ(PutOne(**again).size(), 1u);
  }
}

TEST(DiskStoreFaults, AFullDiskIsSaidInWords) {
  StoreFolder folder;
  const auto store = folder.Open();
  FaultInjector faults(
      {.nth = 1,
       .error = ENOSPC,
       .for_good = true,
       .counts = [](const Call& call) { return call.name == "pwrite"; }});
  const Blob blob = BlobOf("hello");
  for (const auto& result : {store->Put({}, blob.digest(), TextSource("hello")),
                             store->PutMany({}, std::span(&blob, 1))[0]}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kResourceExhausted);
    EXPECT_EQ(result.error().message.find("write to the store: "), 0u)
        << result.error().message;
  }
}

TEST(DiskStoreFaults, AFailedSyncIsNotAcknowledged) {
  for (const int64_t n : {1, 2}) {
    StoreFolder folder;
    const auto store = folder.Open();
    FaultInjector faults({.nth = n, .counts = [](const Call& call) {
                            return call.name == "syncfs";
                          }});
    EXPECT_FALSE(store->Put({}, DigestOf("hello"), TextSource("hello")));
    EXPECT_TRUE(faults.fired());
  }
}

}  // namespace
}  // namespace casemate::store
