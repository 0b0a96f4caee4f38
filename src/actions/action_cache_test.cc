// What every action cache promises, in memory and on disk.
#include "actions/action_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "casemate/stores.h"
#include "testing/store_helpers.h"
#include "testing/temp_dir.h"

namespace casemate::actions {
namespace {

using testing::DigestOf;

ActionKey Key(const std::string& action, const std::string& instance = "") {
  return {instance, DigestOf(action)};
}

Bytes Text(std::string text) { return Bytes::FromString(std::move(text)); }

class ActionCacheTest : public ::testing::TestWithParam<bool> {
 protected:
  ActionCacheTest() {
    if (GetParam()) {
      store_ = DiskStore::Open(dir_ / "store").value();
      cache_ = OpenDiskActionCache(dir_ / "store", true).value();
    } else {
      cache_ = MakeMemoryActionCache();
    }
  }

  std::string Get(const ActionKey& key) {
    const auto result = cache_->Get({}, key);
    return result ? std::string(result->view())
                  : std::string(CodeName(result.error().code));
  }

  void Update(const ActionKey& key, const std::string& result) {
    const auto updated = cache_->Update({}, key, Text(result));
    ASSERT_TRUE(updated) << updated.error().message;
  }

  testing::TempDir dir_;
  std::unique_ptr<DiskStore> store_;
  std::unique_ptr<ActionCache> cache_;
};

TEST_P(ActionCacheTest, GivesBackWhatItWasGiven) {
  Update(Key("a"), "result");
  EXPECT_EQ(Get(Key("a")), "result");
}

TEST_P(ActionCacheTest, R163_KnowsNothingOfWhatItWasNotGiven) {
  Update(Key("a"), "result");
  EXPECT_EQ(Get(Key("b")), "NOT_FOUND");
}

TEST_P(ActionCacheTest, R163_TellsDigestsOfOneHashApartByTheirSizes) {
  const Digest action = DigestOf("a");
  const Digest longer(action.function(), action.hash(), action.size() + 1);
  Update({"", action}, "result");
  EXPECT_EQ(Get({"", longer}), "NOT_FOUND");
  Update({"", longer}, "other");
  EXPECT_EQ(Get({"", action}), "result");
}

TEST_P(ActionCacheTest, R028_TellsDigestFunctionsApart) {
  for (const DigestFunction function : kDigestFunctions) {
    Update({"", DigestOf("a", function)},
           std::string(DigestFunctionName(function)));
  }
  for (const DigestFunction function : kDigestFunctions) {
    EXPECT_EQ(Get({"", DigestOf("a", function)}), DigestFunctionName(function));
  }
}

TEST_P(ActionCacheTest, R030_KeepsInstancesApart) {
  const std::string names[] = {
      "", "a", "a/b", "..", std::string(4000, 'n'), std::string("\0\n/", 3)};
  for (const std::string& name : names) Update(Key("a", name), "for " + name);
  for (const std::string& name : names) {
    EXPECT_EQ(Get(Key("a", name)), "for " + name);
  }
  EXPECT_EQ(Get(Key("a", "b")), "NOT_FOUND");
}

TEST_P(ActionCacheTest, R185_AnEmptyMessageIsAResultLikeAnyOther) {
  Update(Key("a"), "");
  EXPECT_EQ(Get(Key("a")), "");
}

TEST_P(ActionCacheTest, R181_TheLaterUpdateWins) {
  Update(Key("a"), "a long result, the first");
  Update(Key("a"), "second");
  EXPECT_EQ(Get(Key("a")), "second");
}

TEST_P(ActionCacheTest, R181_ReadersSeeOneUpdateOrTheOtherWhole) {
  const std::string results[] = {std::string(30'000, 'a'),
                                 std::string(70'000, 'b')};
  Update(Key("a"), results[0]);
  std::vector<std::jthread> threads;
  for (const std::string& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) Update(Key("a"), result);
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const std::string seen = Get(Key("a"));
        EXPECT_TRUE(seen == results[0] || seen == results[1])
            << seen.substr(0, 20);
      }
    });
  }
}

TEST_P(ActionCacheTest, ManyUpdateAtOnce) {
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([this, t] {
        for (int i = 0; i < 10; ++i) {
          const std::string name = std::to_string(100 * t + i);
          Update(Key(name), "result " + name);
        }
      });
    }
  }
  for (int t = 0; t < 8; ++t) {
    const std::string name = std::to_string(100 * t + 7);
    EXPECT_EQ(Get(Key(name)), "result " + name);
  }
}

TEST_P(ActionCacheTest, ACancelledCallDoesNothing) {
  EXPECT_EQ(
      cache_->Update(testing::Cancelled(), Key("a"), Text("x")).error().code,
      Code::kCancelled);
  EXPECT_EQ(Get(Key("a")), "NOT_FOUND");
  EXPECT_EQ(cache_->Get(testing::Cancelled(), Key("a")).error().code,
            Code::kCancelled);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ActionCacheTest, ::testing::Bool(),
                         [](const auto& each) {
                           return each.param ? "Disk" : "Memory";
                         });

TEST(MemoryActionCache, R178_SaysWhenItIsFull) {
  const auto cache = MakeMemoryActionCache(2000);
  EXPECT_TRUE(cache->Update({}, Key("a"), Text(std::string(1000, 'x'))));
  EXPECT_EQ(
      cache->Update({}, Key("b"), Text(std::string(1000, 'x'))).error().code,
      Code::kResourceExhausted);
  EXPECT_TRUE(cache->Update({}, Key("a"), Text(std::string(1700, 'x'))));
  EXPECT_TRUE(cache->Update({}, Key("a"), Text("y")));
  EXPECT_TRUE(cache->Update({}, Key("b"), Text(std::string(1000, 'x'))));
}

}  // namespace
}  // namespace casemate::actions
