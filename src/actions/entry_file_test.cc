#include "actions/entry_file.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/store_helpers.h"

namespace casemate::actions {
namespace {

using testing::DigestOf;

ActionKey Key(const std::string& instance = "") {
  return {instance, DigestOf("an action")};
}

Bytes EntryOf(const ActionKey& key, const std::string& result) {
  const Bytes bytes = Bytes::FromString(result);
  return Bytes::FromString(EntryHead(key, bytes) + result);
}

TEST(EntryFile, IsAsItsFormatSays) {
  const std::string hash = DigestOf("an action").Hex();
  const Bytes file = EntryOf(Key("a\nb"), "result");
  const std::string rest = "sha256 " + hash + "/9 3 0000000006\na\nb\nresult";
  EXPECT_EQ(file.view(),
            "casemate action result 1\n" + DigestOf(rest).Hex() + "\n" + rest);
  EXPECT_EQ(EntryFolder(Key("x")),
            "ac/" + DigestOf("x").Hex() + "/sha256/" + hash.substr(0, 2));
  EXPECT_EQ(EntryName(Key("x")), hash.substr(2) + "-9");
}

TEST(EntryFile, GivesBackAnyMessage) {
  for (const std::string& result :
       {std::string(), std::string("\0\n", 2), testing::RandomText(100'000)}) {
    const auto parsed = ParseEntry(Key("i"), EntryOf(Key("i"), result));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->view(), result);
  }
}

TEST(EntryFile, R036_NoInstanceNameReachesAPath) {
  for (const char* const name : {"..", "../../etc", "/", "a/b", "."}) {
    const std::string folder = EntryFolder(Key(name));
    EXPECT_EQ(folder.size(), EntryFolder(Key()).size());
    EXPECT_EQ(folder.find(".."), folder.npos);
  }
}

TEST(EntryFile, NoticesEachFlippedBit) {
  const std::string good(EntryOf(Key("instance"), "result").view());
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      EXPECT_FALSE(ParseEntry(Key("instance"), Bytes::FromString(bad)));
    }
  }
}

TEST(EntryFile, NoticesEachCutAndWhatIsAppended) {
  const Bytes good = EntryOf(Key("instance"), "result");
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(ParseEntry(Key("instance"), good.Slice(0, length)));
  }
  const std::string longer = std::string(good.view()) + "x";
  EXPECT_FALSE(ParseEntry(Key("instance"), Bytes::FromString(longer)));
}

TEST(EntryFile, BelongsToItsKeyAlone) {
  const Bytes entry = EntryOf(Key("a"), "result");
  EXPECT_FALSE(ParseEntry(Key("b"), entry));
  EXPECT_FALSE(ParseEntry({"a", DigestOf("another")}, entry));
  const Digest action = DigestOf("an action");
  const Digest wrong_size(action.function(), action.hash(), action.size() + 1);
  EXPECT_FALSE(ParseEntry({"a", wrong_size}, entry));
}

}  // namespace
}  // namespace casemate::actions
