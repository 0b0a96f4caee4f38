#include "files/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace casemate::files {
namespace {

TEST(SystemError, SaysDeedEntryAndCauseInWords) {
  const Error error = SystemError(EACCES, "open", "a/b");
  EXPECT_EQ(error.code, Code::kPermissionDenied);
  EXPECT_EQ(error.message, "open a/b: permission denied");
}

TEST(SystemError, KnowsWhatCallersDecideBy) {
  EXPECT_EQ(CodeOf(ENOENT), Code::kNotFound);
  EXPECT_EQ(CodeOf(ENOTDIR), Code::kNotFound);
  EXPECT_EQ(CodeOf(EEXIST), Code::kAlreadyExists);
  EXPECT_EQ(CodeOf(ENOSPC), Code::kResourceExhausted);
  EXPECT_EQ(CodeOf(EDQUOT), Code::kResourceExhausted);
  EXPECT_EQ(CodeOf(ELOOP), Code::kFailedPrecondition);
  EXPECT_EQ(CodeOf(EROFS), Code::kPermissionDenied);
  EXPECT_EQ(CodeOf(ENAMETOOLONG), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(EIO), Code::kInternal);
}

TEST(SystemError, HasWordsForNumbersNobodyKnows) {
  EXPECT_EQ(SystemError(54321, "open", "a").message,
            "open a: an unknown error");
}

TEST(Printable, LeavesPlainTextAlone) {
  EXPECT_EQ(Printable("a b/é€'\""), "a b/é€'\"");
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(Printable("a\n\x1b[31m\x7f"), "a\\x0a\\x1b[31m\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b");  // CSI in one character.
  EXPECT_EQ(Printable("back\\slash"), "back\\\\slash");
  EXPECT_EQ(Printable("\xff\xc3"), "\\xff\\xc3");
}

TEST(Printable, ShortensWhatNobodyWouldRead) {
  const std::string text = Printable(std::string(100'000, 'x') + "end");
  EXPECT_LT(text.size(), 600u);
  EXPECT_TRUE(text.ends_with("xend"));
}

}  // namespace
}  // namespace casemate::files
