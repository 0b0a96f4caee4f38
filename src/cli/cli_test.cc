#include <gtest/gtest.h>

#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/progress_line.h"
#include "cli/tree_path.h"
#include "digest/hasher.h"

namespace casemate::cli {
namespace {

const std::string kRoot =
    digest::Hash(DigestFunction::kSha256, AsBytes("tree")).ToString();

TEST(TreePath, SplitsTheDigestFromThePath) {
  EXPECT_EQ(ParseTreePath(kRoot)->path, "");
  EXPECT_EQ(ParseTreePath(kRoot + "/")->path, "");
  EXPECT_EQ(ParseTreePath(kRoot + "/a/b/")->path, "a/b");
  EXPECT_EQ(ParseTreePath(kRoot + "/a/b")->root.ToString(), kRoot);
}

TEST(TreePath, RefusesWhatHasNoDigest) {
  EXPECT_FALSE(ParseTreePath(""));
  EXPECT_FALSE(ParseTreePath("a/b/c"));
}

TEST(Grouped, PutsCommasBetweenThousands) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(4400), "4,400");
  EXPECT_EQ(Grouped(-1234567), "-1,234,567");
}

TEST(ProgressLine, TellsHowMuchOfHowMuchAndHowLong) {
  Progress progress{.files_found = 4400,
                    .bytes_found = 100 << 20,
                    .totals_known = true,
                    .files_done = 1100,
                    .bytes_done = 25 << 20};
  EXPECT_EQ(PlainLine("pushing", {progress, 1, 25 << 20}),
            "pushing   25%  1,100/4,400 files  25.0 MiB/100 MiB  25.0 MiB/s  "
            "0:03 left");
}

TEST(ProgressLine, PromisesNothingWhileTheTotalsGrow) {
  const Progress progress{.files_found = 7, .bytes_found = 10, .bytes_done = 5};
  const std::string line = BarLine("pushing", {progress, 1, 5}, 100);
  EXPECT_EQ(line, "pushing  0/7+ files  5 B/10 B+  5 B/s");
}

TEST(ProgressLine, FitsTheTerminal) {
  const Progress progress{
      .files_found = 4400, .bytes_found = 100, .totals_known = true};
  for (int columns = 2; columns < 120; ++columns) {
    EXPECT_LT(BarLine("pushing", {progress, 1, 5}, columns).size(),
              static_cast<size_t>(columns));
  }
}

TEST(ExitCode, FollowsTheDocumentedTable) {
  EXPECT_EQ(ExitCode(Code::kNotFound), 3);
  EXPECT_EQ(ExitCode(Code::kDataLoss), 4);
  EXPECT_EQ(ExitCode(Code::kUnavailable), 5);
  EXPECT_EQ(ExitCode(Code::kPermissionDenied), 6);
  EXPECT_EQ(ExitCode(Code::kCancelled), 130);
}

}  // namespace
}  // namespace casemate::cli
