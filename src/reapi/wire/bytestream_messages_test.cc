#include "reapi/wire/bytestream_messages.h"

#include <gtest/gtest.h>

#include "google/bytestream/bytestream.pb.h"
#include "reapi/wire/for_test.h"

namespace casemate::reapi {
namespace {

namespace bs = google::bytestream;
using testing::Below;
using testing::CutAt;
using testing::CutAtRandom;
using testing::RandomBytes;
using testing::UnknownFields;

int64_t RandomNumber(std::mt19937& random) {
  if (random() % 4 == 0) return 0;
  const uint64_t wide = uint64_t{random()} << 32 | random();
  return static_cast<int64_t>(wide >> Below(random, 63));
}

std::string RandomName(std::mt19937& random) {
  return std::string(Below(random, 90), 'n');
}

bs::WriteRequest RandomWrite(std::mt19937& random) {
  bs::WriteRequest message;
  message.set_resource_name(RandomName(random));
  message.set_write_offset(RandomNumber(random));
  message.set_finish_write(random() % 2 == 0);
  message.set_data(RandomBytes(random, 300));
  return message;
}

void ExpectSame(const WriteRequest& ours, const bs::WriteRequest& theirs) {
  EXPECT_EQ(ours.resource_name, theirs.resource_name());
  EXPECT_EQ(ours.write_offset, theirs.write_offset());
  EXPECT_EQ(ours.finish_write, theirs.finish_write());
  EXPECT_EQ(ours.data.Joined().view(), theirs.data());
}

TEST(BytestreamMessages, WriteRequestIsReadAsTheGeneratedOneDoes) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    // Twice, so that fields are repeated: the last one wins.
    const std::string text = RandomWrite(random).SerializeAsString() +
                             UnknownFields() +
                             RandomWrite(random).SerializeAsString();
    bs::WriteRequest theirs;
    ASSERT_TRUE(theirs.ParseFromString(text));
    const auto ours = ParseWriteRequest(CutAtRandom(text, random));
    ASSERT_TRUE(ours);
    ExpectSame(*ours, theirs);
  }
}

TEST(BytestreamMessages, WriteRequestIsReadCutAtEveryByteAndWhenTruncated) {
  std::mt19937 random(2);
  const bs::WriteRequest message = RandomWrite(random);
  const std::string text = message.SerializeAsString() + UnknownFields();
  for (size_t at = 0; at <= text.size(); ++at) {
    ExpectSame(*ParseWriteRequest(CutAt(text, at)), message);
    const std::string part = text.substr(0, at);
    bs::WriteRequest theirs;
    const bool whole = theirs.ParseFromString(part);
    const auto ours = ParseWriteRequest(CutAt(part, at / 2));
    ASSERT_EQ(ours.has_value(), whole) << at;
    if (whole) ExpectSame(*ours, theirs);
  }
}

TEST(BytestreamMessages, WriteRequestIsWrittenAsTheGeneratedOne) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const bs::WriteRequest message = RandomWrite(random);
    WriteRequest ours;
    ours.resource_name = message.resource_name();
    ours.write_offset = message.write_offset();
    ours.finish_write = message.finish_write();
    const Bytes head = WriteRequestHead(ours, message.data().size());
    EXPECT_EQ(std::string(head.view()) + message.data(),
              message.SerializeAsString());
  }
}

TEST(BytestreamMessages, ReadRequestIsReadAndWrittenAsTheGeneratedOne) {
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    bs::ReadRequest message;
    message.set_resource_name(RandomName(random));
    message.set_read_offset(RandomNumber(random));
    message.set_read_limit(RandomNumber(random));
    const std::string text = message.SerializeAsString();
    const auto ours =
        ParseReadRequest(CutAtRandom(text + UnknownFields(), random));
    ASSERT_TRUE(ours);
    EXPECT_EQ(ours->resource_name, message.resource_name());
    EXPECT_EQ(ours->read_offset, message.read_offset());
    EXPECT_EQ(ours->read_limit, message.read_limit());
    EXPECT_EQ(FormatReadRequest(*ours).view(), text);
    for (size_t size = 0; size < text.size(); ++size) {
      bs::ReadRequest theirs;
      EXPECT_EQ(ParseReadRequest(CutAt(text.substr(0, size), 0)).has_value(),
                theirs.ParseFromString(text.substr(0, size)));
    }
  }
}

TEST(BytestreamMessages, ReadResponseIsItsHeadAndItsData) {
  std::mt19937 random(5);
  for (const size_t size : {0u, 1u, 127u, 128u, 4096u, 70000u}) {
    const std::string data(size, 'x');
    const std::string text = std::string(ReadResponseHead(size).view()) + data;
    bs::ReadResponse theirs;
    theirs.set_data(data);
    EXPECT_EQ(text, theirs.SerializeAsString());
    const auto ours = ParseReadResponse(CutAtRandom(text, random));
    ASSERT_TRUE(ours);
    EXPECT_EQ(ours->Joined().view(), data);
  }
}

TEST(BytestreamMessages, AnswersAreThoseOfTheGeneratedMessages) {
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{-1}, INT64_MAX}) {
    bs::WriteResponse response;
    response.set_committed_size(size);
    EXPECT_EQ(FormatWriteResponse(size).view(), response.SerializeAsString());
    EXPECT_EQ(*ParseWriteResponse(
                  CutAt(response.SerializeAsString() + UnknownFields(), 0)),
              size);
    for (const bool complete : {false, true}) {
      bs::QueryWriteStatusResponse status;
      status.set_committed_size(size);
      status.set_complete(complete);
      const std::string text = status.SerializeAsString();
      EXPECT_EQ(FormatQueryWriteStatusResponse({size, complete}).view(), text);
      const auto ours = ParseQueryWriteStatusResponse(CutAt(text, 0));
      EXPECT_EQ(ours->committed_size, size);
      EXPECT_EQ(ours->complete, complete);
    }
  }
  EXPECT_EQ(FormatWriteResponse(-1).view(),
            "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(BytestreamMessages, QueryIsReadAndWrittenAsTheGeneratedOne) {
  bs::QueryWriteStatusRequest message;
  message.set_resource_name("uploads/u/blobs/x/5");
  const std::string text = message.SerializeAsString();
  EXPECT_EQ(FormatQueryWriteStatusRequest("uploads/u/blobs/x/5").view(), text);
  EXPECT_EQ(*ParseQueryWriteStatusRequest(CutAt(text, 4)),
            "uploads/u/blobs/x/5");
  EXPECT_FALSE(ParseQueryWriteStatusRequest(CutAt(text.substr(0, 5), 2)));
}

TEST(BytestreamMessages, KnownNumbersOfAnotherTypeAreUnknownFields) {
  const std::string text =
      "\x50\x07\x0D"
      "1234\x12\x01x";  // 10, 1 and 2.
  const auto request = ParseWriteRequest(CutAt(text, 3));
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->data.empty() && request->resource_name.empty());
  EXPECT_EQ(request->write_offset, 0);
}

TEST(BytestreamMessages, NamesThatAreNotUtf8AreRefused) {
  EXPECT_FALSE(ParseReadRequest(CutAt("\x0A\x01\xFF", 1)));
  EXPECT_FALSE(ParseWriteRequest(CutAt("\x0A\x01\xFF", 1)));
  bs::ReadRequest theirs;
  EXPECT_FALSE(theirs.ParseFromString("\x0A\x01\xFF"));
}

}  // namespace
}  // namespace casemate::reapi
