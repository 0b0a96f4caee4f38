#include "reapi/server/small_writes.h"

#include <gtest/gtest.h>

#include <latch>
#include <semaphore>

#include "casemate/stores.h"
#include "store/memory_store.h"
#include "testing/store_helpers.h"

namespace casemate::reapi {
namespace {

using casemate::testing::DigestOf;
using casemate::testing::Has;
using casemate::testing::RandomText;
using casemate::testing::Zstd;

// Notes the sizes of groups, and holds each until it is let go.
class GatedStore : public store::MemoryStore {
 public:
  bool NeverWaits() const override { return false; }
  std::vector<Result<void>> PutMany(const Context& ctx,
                                    std::span<const Blob> blobs) override {
    entered.release();
    gate.acquire();
    {
      base::MutexLock lock(mutex);
      groups.push_back(blobs.size());
    }
    return MemoryStore::PutMany(ctx, blobs);
  }

  std::counting_semaphore<> entered{0};
  std::counting_semaphore<> gate{0};
  base::Mutex mutex;
  std::vector<size_t> groups GUARDED_BY(mutex);
};

class SmallWritesTest : public ::testing::Test {
 protected:
  std::shared_ptr<SmallWrite> Start(BlobStore& store, const std::string& text,
                                    Encoding encoding = Encoding::kIdentity) {
    const std::string wire = encoding == Encoding::kZstd ? Zstd(text) : text;
    auto write = std::make_shared<SmallWrite>(store, DigestOf(text),
                                              Bytes::FromString(wire), encoding,
                                              [this] { ended_.release(); });
    writes_.Start(write);
    return write;
  }
  void AwaitEnds(int count) {
    for (int i = 0; i < count; ++i) ended_.acquire();
  }

  std::counting_semaphore<> ended_{0};
  Arrivals arrivals_;
  work::Pool pool_{"test", 4};
  SmallWrites writes_{pool_, arrivals_, {.slots = 1}};
};

TEST_F(SmallWritesTest, ALoneWriteLeavesAtOnce) {
  const auto store = MakeMemoryStore();
  const auto write = Start(*store, "hello");
  AwaitEnds(1);
  ASSERT_TRUE(write->done());
  ASSERT_TRUE(write->result());
  EXPECT_FALSE(*write->result());
  EXPECT_TRUE(Has(*store, DigestOf("hello")));
  EXPECT_EQ(writes_.counters().groups, 1);
}

TEST_F(SmallWritesTest, ArrivalsGatherWhileAllSlotsAreBusy) {
  GatedStore store;
  Start(store, "first");
  store.entered.acquire();
  for (int i = 0; i < 9; ++i) Start(store, "other " + std::to_string(i));
  EXPECT_EQ(writes_.waiting(), 9u);
  store.gate.release(2);
  AwaitEnds(10);
  base::MutexLock lock(store.mutex);
  EXPECT_EQ(store.groups, (std::vector<size_t>{1, 9}));
}

TEST_F(SmallWritesTest, OneItemsFailureIsItsAlone) {
  GatedStore store;
  Start(store, "first");
  store.entered.acquire();
  const auto good = Start(store, "good");
  auto bad = std::make_shared<SmallWrite>(
      store, DigestOf("bad"), Bytes::FromString("bda"), Encoding::kIdentity,
      [this] { ended_.release(); });
  writes_.Start(bad);
  auto garbage = std::make_shared<SmallWrite>(
      store, DigestOf("garbage"), Bytes::FromString("garbage"), Encoding::kZstd,
      [this] { ended_.release(); });
  writes_.Start(garbage);
  store.gate.release(2);
  AwaitEnds(4);
  EXPECT_TRUE(good->result());
  EXPECT_EQ(bad->result().error().code, Code::kInvalidArgument);
  EXPECT_EQ(garbage->result().error().code, Code::kInvalidArgument);
}

TEST_F(SmallWritesTest, WhatWasWithdrawnIsNotStored) {
  GatedStore store;
  Start(store, "first");
  store.entered.acquire();
  const auto write = Start(store, "withdrawn");
  writes_.Withdraw(*write);
  EXPECT_EQ(writes_.waiting(), 0u);
  store.gate.release(1);
  AwaitEnds(1);
  EXPECT_FALSE(write->done());
  EXPECT_FALSE(Has(store, DigestOf("withdrawn")));
}

TEST_F(SmallWritesTest, GroupsAreOfOneStore) {
  GatedStore one, two;
  Start(one, "first");
  one.entered.acquire();
  Start(one, "a");
  Start(two, "b");
  Start(one, "c");
  one.gate.release(3);
  two.gate.release(1);
  AwaitEnds(4);
  EXPECT_TRUE(Has(one, DigestOf("a")) && Has(one, DigestOf("c")));
  EXPECT_TRUE(Has(two, DigestOf("b")) && !Has(two, DigestOf("a")));
}

TEST_F(SmallWritesTest, R094_SaysWhetherACompressedBlobWasThere) {
  const auto store = MakeMemoryStore();
  const std::string text = RandomText(1000);
  const auto first = Start(*store, text, Encoding::kZstd);
  AwaitEnds(1);
  EXPECT_FALSE(*first->result());
  const auto second = Start(*store, text, Encoding::kZstd);
  AwaitEnds(1);
  EXPECT_TRUE(*second->result());
}

TEST_F(SmallWritesTest, R076_TellsWhoWaitsForTheBlob) {
  const auto store = MakeMemoryStore();
  std::binary_semaphore woken{0};
  const auto wait =
      arrivals_.Expect(*store, DigestOf("hello"), [&] { woken.release(); });
  Start(*store, "hello");
  woken.acquire();
  EXPECT_TRUE(wait->arrived());
  AwaitEnds(1);
}

TEST(Arrivals, TellsOnlyWhoWaitsForThatBlobInThatStore) {
  const auto one = MakeMemoryStore();
  const auto two = MakeMemoryStore();
  Arrivals arrivals;
  int wakes = 0;
  const auto wake = [&] { ++wakes; };
  const auto first = arrivals.Expect(*one, DigestOf("a"), wake);
  const auto second = arrivals.Expect(*one, DigestOf("a"), wake);
  const auto other_store = arrivals.Expect(*two, DigestOf("a"), wake);
  const auto other_blob = arrivals.Expect(*one, DigestOf("b"), wake);
  arrivals.Tell(*one, DigestOf("a"));
  arrivals.Tell(*one, DigestOf("a"));
  EXPECT_EQ(wakes, 2);
  EXPECT_TRUE(first->arrived() && second->arrived());
  EXPECT_FALSE(other_store->arrived() || other_blob->arrived());
}

TEST(Arrivals, ForgetsWhoHasGone) {
  const auto store = MakeMemoryStore();
  Arrivals arrivals;
  arrivals.Expect(*store, DigestOf("a"), [] { FAIL(); }).reset();
  EXPECT_EQ(arrivals.waiting(), 0u);
  arrivals.Tell(*store, DigestOf("a"));
}

}  // namespace
}  // namespace casemate::reapi
