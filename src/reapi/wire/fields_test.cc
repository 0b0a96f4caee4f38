#include "reapi/wire/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reapi/wire/for_test.h"

namespace casemate::reapi {
namespace {

using namespace std::string_literals;

using testing::CutAt;
using testing::UnknownFields;

// Whether a walk over `text`, taking nothing, comes to a good end, wherever it
// is cut.
bool Walks(const std::string& text) {
  std::vector<bool> ends;
  for (size_t at = 0; at <= text.size(); ++at) {
    const auto pieces = CutAt(text, at);
    FieldReader reader(pieces);
    while (reader.Next()) {
    }
    ends.push_back(reader.ok());
  }
  EXPECT_THAT(ends, ::testing::Each(ends.front()));
  return ends.front();
}

TEST(FieldReader, SkipsUnknownFieldsOfEveryType) {
  EXPECT_TRUE(Walks(UnknownFields()));
  EXPECT_TRUE(Walks(""));
}

TEST(FieldReader, RefusesEveryTruncation) {
  const std::string whole =
      "\xA2\x3E\x03"
      "abc"s;
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_FALSE(Walks(whole.substr(0, size))) << size;
  }
}

TEST(FieldReader, RefusesFieldNumberZeroAndUnknownWireTypes) {
  EXPECT_FALSE(Walks("\x00\x00"s));
  EXPECT_FALSE(Walks("\x0E\x00"s));
  EXPECT_FALSE(Walks("\x0F\x00"s));
}

TEST(FieldReader, RefusesGroupsThatDoNotMatch) {
  EXPECT_FALSE(Walks("\x0C"s));          // The end of no group.
  EXPECT_FALSE(Walks("\x0B\x14"s));      // Of another.
  EXPECT_FALSE(Walks("\x0B\x08\x01"s));  // No end.
}

TEST(FieldReader, BoundsTheDepthOfGroups) {
  EXPECT_TRUE(Walks(std::string(100, '\x0B') + std::string(100, '\x0C')));
  EXPECT_FALSE(Walks(std::string(101, '\x0B') + std::string(101, '\x0C')));
  const std::string deep(1 << 20, '\x0B');
  const std::vector<Bytes> pieces = {Bytes::FromString(deep)};
  FieldReader reader(pieces);
  EXPECT_TRUE(reader.Next());
  EXPECT_FALSE(reader.Next());
  EXPECT_FALSE(reader.ok());
}

TEST(FieldReader, RefusesVarintsAndTagsThatAreTooLong) {
  EXPECT_TRUE(Walks("\x08"s + std::string(9, '\xFF') + "\x01"));
  EXPECT_FALSE(Walks("\x08"s + std::string(10, '\xFF') + "\x01"));
  EXPECT_FALSE(Walks(std::string(5, '\xFF') + "\x01\x01"));
}

TEST(FieldReader, RefusesALengthBeyondTheEndHoweverLarge) {
  EXPECT_FALSE(
      Walks("\x0A\x05"
            "abcd"s));
  EXPECT_FALSE(Walks("\x0A"s + std::string(9, '\xFF') + "\x01"));
  EXPECT_FALSE(
      Walks("\x0A\xFF\xFF\xFF\xFF\x0F"
            "abcd"s));
}

TEST(FieldReader, GivesValuesByReferenceWhereverTheyAreCut) {
  const std::string message =
      "\x0A\x06"
      "abcdef\x10\x2A"s;
  for (size_t at = 0; at <= message.size(); ++at) {
    const auto pieces = CutAt(message, at);
    FieldReader reader(pieces);
    ASSERT_TRUE(reader.Next() && reader.Is(1, WireType::kBytes));
    const Slices value = reader.Value();
    EXPECT_EQ(value.Joined().view(), "abcdef");
    EXPECT_EQ(value.count(), at > 2 && at < 8 ? 2u : 1u);
    for (size_t i = 0; i < value.count(); ++i) {
      const std::byte* const data = value.piece(i).data();
      EXPECT_TRUE((data >= pieces[0].data() &&
                   data < pieces[0].data() + pieces[0].size()) ||
                  (data >= pieces[1].data() &&
                   data < pieces[1].data() + pieces[1].size()));
    }
    ASSERT_TRUE(reader.Next() && reader.Is(2, WireType::kVarint));
    EXPECT_EQ(reader.Varint(), 42u);
    EXPECT_FALSE(reader.Next());
    EXPECT_TRUE(reader.ok());
  }
}

TEST(FieldReader, WalksOverAMessageWithinAMessage) {
  const std::string message = "\x0A\x04\x08\x96\x01\x10\x18\x07"s;
  for (size_t at = 0; at <= message.size(); ++at) {
    const auto pieces = CutAt(message, at);
    FieldReader reader(pieces);
    ASSERT_TRUE(reader.Next());
    FieldReader inner = reader.Message();
    ASSERT_TRUE(inner.Next());
    EXPECT_EQ(inner.Varint(), 150u);
    EXPECT_TRUE(inner.Next());
    EXPECT_FALSE(inner.Next());  // Its second field is cut by its own end.
    EXPECT_FALSE(inner.ok());
    ASSERT_TRUE(reader.Next());
    EXPECT_EQ(reader.Varint(), 7u);
    EXPECT_TRUE(!reader.Next() && reader.ok());
  }
}

TEST(IsUtf8, KnowsWhatAStringMayHold) {
  EXPECT_TRUE(IsUtf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
  EXPECT_FALSE(IsUtf8("\xC0\xAF"));          // Overlong.
  EXPECT_FALSE(IsUtf8("\xED\xA0\x80"));      // A surrogate.
  EXPECT_FALSE(IsUtf8("\xF4\x90\x80\x80"));  // Beyond the last.
  EXPECT_FALSE(IsUtf8("\xE2\x82"));
  EXPECT_FALSE(IsUtf8("\x80"));
  EXPECT_FALSE(IsUtf8("\xFF"));
}

}  // namespace
}  // namespace casemate::reapi
