#include "rpc/http2/output.h"

#include <gtest/gtest.h>

namespace casemate::rpc::http2 {
namespace {

std::string All(const Output& output) {
  std::string text;
  for (const iovec& piece : output.pieces()) {
    text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  return text;
}

TEST(Output, SmallPartsBecomeOnePiece) {
  Output output;
  output.Add("head");
  output.Add(Bytes::FromString("body"));
  EXPECT_EQ(All(output), "headbody");
  EXPECT_EQ(output.pieces().size(), 1u);
}

TEST(Output, LargeBytesAreReferredTo) {
  Output output;
  const Bytes blob = Bytes::FromString(std::string(5000, 'b'));
  output.Add("head");
  output.Add(blob);
  output.Add("tail");
  ASSERT_EQ(output.pieces().size(), 3u);
  EXPECT_EQ(output.pieces()[1].iov_base, blob.data());
  EXPECT_EQ(output.size(), 5008u);
}

TEST(Output, DropsWhatWasSentAtAnyBorder) {
  const std::string blob(3000, 'b');
  for (size_t cut = 0; cut < 3010; cut += 7) {
    Output output;
    output.Add("head");
    output.Add(Bytes::FromString(blob));
    output.Add("tail");
    output.Drop(cut);
    EXPECT_EQ(All(output), ("head" + blob + "tail").substr(cut));
  }
}

TEST(Output, IsEmptyOnceAllWasSent) {
  Output output;
  output.Add("abc");
  output.Drop(3);
  EXPECT_TRUE(output.empty());
  EXPECT_TRUE(output.pieces().empty());
  output.Add("d");
  EXPECT_EQ(All(output), "d");
}

TEST(Output, ReleasesWhatItReferredTo) {
  auto owner = std::make_shared<std::string>(2000, 'x');
  Output output;
  output.Add(Bytes::Share(owner, AsBytes(*owner)));
  EXPECT_EQ(owner.use_count(), 2);
  output.Drop(2000);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(Output, CopiesMoreThanABlock) {
  std::string text;
  for (int i = 0; text.size() < 100000; ++i) text += std::to_string(i);
  Output output;
  output.Add(std::string_view(text));
  EXPECT_EQ(All(output), text);
}

}  // namespace
}  // namespace casemate::rpc::http2
