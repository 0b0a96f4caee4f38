#include "tree/fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "testing/store_helpers.h"

namespace casemate::tree {
namespace {

namespace proto = build::bazel::remote::execution::v2;
using namespace std::string_literals;

// Yields `text` at most `piece` bytes at a time.
class PieceReader : public Reader {
 public:
  PieceReader(std::string text, size_t piece)
      : text_(std::move(text)), piece_(piece) {}
  Result<size_t> Read(const Context&, std::span<std::byte> buffer) override {
    const size_t count =
        std::min({piece_, buffer.size(), text_.size() - position_});
    std::ranges::copy(AsBytes(text_).subspan(position_, count), buffer.begin());
    position_ += count;
    return count;
  }

 private:
  const std::string text_;
  const size_t piece_;
  size_t position_ = 0;
};

std::string Sample() {
  proto::FileNode node;
  node.set_name("a file");
  node.mutable_digest()->set_hash("abc");
  node.mutable_digest()->set_size_bytes(-1);
  node.set_is_executable(true);
  return node.SerializeAsString();
}

TEST(FieldReader, GivesEachFieldAndItsWhole) {
  const std::string sample = Sample();
  FieldReader reader(sample);
  Field field;
  std::string whole;
  std::vector<uint32_t> numbers;
  while (reader.Next(field)) {
    numbers.push_back(field.number);
    whole += field.whole;
  }
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(numbers, (std::vector<uint32_t>{1, 2, 4}));
  EXPECT_EQ(whole, sample);
}

TEST(FieldReader, NoticesEachCut) {
  const std::string sample = Sample();
  size_t good = 0;
  for (size_t length = 0; length <= sample.size(); ++length) {
    good += IsMessage(sample.substr(0, length));
  }
  EXPECT_EQ(good, 4u);  // At the borders of its three fields.
}

TEST(FieldReader, SkipsGroupsAndRefusesBadOnes) {
  EXPECT_TRUE(IsMessage("\x0b\x08\x01\x0c"s));   // Group 1 around a varint.
  EXPECT_TRUE(IsMessage("\x0b\x13\x14\x0c"s));   // A group in a group.
  EXPECT_FALSE(IsMessage("\x0b\x08\x01\x14"s));  // The end of another.
  EXPECT_FALSE(IsMessage("\x0c"s));              // An end alone.
  EXPECT_FALSE(IsMessage(std::string(1000, '\x0b')));
}

TEST(FieldReader, RefusesTagsThatDoNotExist) {
  EXPECT_FALSE(IsMessage("\x00\x01"s));  // Number 0.
  EXPECT_FALSE(IsMessage("\x0e\x01"s));  // Type 6.
  EXPECT_FALSE(IsMessage(std::string(11, '\xff')));
}

// What a FieldStream sees of a FileNode.
std::string Seen(std::string bytes, size_t piece) {
  PieceReader reader(std::move(bytes), piece);
  const Context ctx;
  FieldStream in(ctx, reader);
  std::string seen, text;
  while (in.Next()) {
    seen += std::to_string(in.number());
    if (in.Is(1, WireType::kBytes) && in.ReadText(text, 100)) seen += text;
    if (in.Is(2, WireType::kBytes) && in.Enter()) {
      while (in.Next()) seen += "," + std::to_string(in.number());
      in.Leave();
    }
    seen += ";";
  }
  return in.status() ? seen : "error";
}

TEST(FieldStream, SeesTheSameHoweverTheBytesAreCut) {
  for (const size_t piece : {1u, 2u, 3u, 100u}) {
    EXPECT_EQ(Seen(Sample(), piece), "1a file;2,1,2;4;");
  }
}

TEST(FieldStream, NoticesEachCut) {
  const std::string sample = Sample();
  size_t good = 0;
  for (size_t length = 0; length <= sample.size(); ++length) {
    good += Seen(sample.substr(0, length), 3) != "error";
  }
  EXPECT_EQ(good, 4u);
}

TEST(FieldStream, LeavesNoSubmessageBeyondTheOneAroundIt) {
  // Field 2 of two bytes, in it a field that claims five.
  EXPECT_EQ(Seen("\x12\x02\x0a\x05zzzzz"s, 100), "error");
}

TEST(FieldStream, AgreesWithTheReaderInMemoryAboutGroups) {
  EXPECT_EQ(Seen("\x0b\x08\x01\x0c"s, 1), "1;");
  EXPECT_EQ(Seen("\x0b\x08\x01\x14"s, 1), "error");
  EXPECT_EQ(Seen(std::string(1000, '\x0b'), 7), "error");
}

TEST(FieldStream, PassesOnTheReadersError) {
  class Broken : public Reader {
    Result<size_t> Read(const Context&, std::span<std::byte>) override {
      return Error{Code::kDataLoss, "rotten"};
    }
  } broken;
  const Context ctx;
  FieldStream in(ctx, broken);
  EXPECT_FALSE(in.Next());
  EXPECT_EQ(in.status().error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace casemate::tree
