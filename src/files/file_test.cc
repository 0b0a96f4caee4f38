#include "files/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "casemate/bytes.h"
#include "files/for_test.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

using sys::Call;
using sys::FaultInjector;
using ::testing::HasSubstr;
using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

File MustOpen(const TempDir& dir, const std::string& name) {
  auto file = MustRoot(dir.path()).OpenFile(name);
  EXPECT_TRUE(file) << file.error().message;
  return std::move(*file);
}

OutputFile MustCreate(const TempDir& dir, const std::string& name) {
  auto file = MustHold(dir.path()).CreateFile(name, 0644);
  EXPECT_TRUE(file) << file.error().message;
  return std::move(*file);
}

std::function<bool(const Call&)> Only(std::string_view name) {
  return [name](const Call& call) { return call.name == name; };
}

TEST(File, ReadsFromAnyOffsetUpToTheEnd) {
  TempDir dir;
  WriteFile(dir / "a", "hello, world");
  const File file = MustOpen(dir, "a");
  std::string buffer(5, '\0');
  const auto bytes = std::as_writable_bytes(std::span(buffer));
  EXPECT_EQ(file.ReadAt(7, bytes).value(), 5u);
  EXPECT_EQ(buffer, "world");
  EXPECT_EQ(file.ReadAt(10, bytes).value(), 2u);
  EXPECT_EQ(file.ReadAt(99, bytes).value(), 0u);
}

TEST(File, ThatIsTruncatedReadsShortAndNothingWorse) {
  TempDir dir;
  WriteFile(dir / "a", std::string(100'000, 'x'));
  const File file = MustOpen(dir, "a");
  ASSERT_EQ(truncate((dir / "a").c_str(), 10), 0);
  EXPECT_EQ(ContentOf(file), "xxxxxxxxxx");
  EXPECT_EQ(file.Restat()->size, 10);
  EXPECT_EQ(file.stat().size, 100'000);
}

TEST(File, WhoseSizeSaysNothingIsReadToItsEnd) {
  const auto file = MustRoot("/proc/self").OpenFile("status");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->stat().size, 0);
  EXPECT_THAT(ContentOf(*file), HasSubstr("Name:"));
}

TEST(File, TriesWithoutWaitingForTheDisk) {
  TempDir dir;
  WriteFile(dir / "a", "cached");
  const File file = MustOpen(dir, "a");
  std::array<std::byte, 16> buffer;
  const auto got = file.TryReadAt(0, buffer);
  if (!got && got.error().code == Code::kUnimplemented) {
    GTEST_SKIP() << "the filesystem does not know RWF_NOWAIT";
  }
  EXPECT_EQ(got.value(), 6u);
  EXPECT_EQ(file.TryReadAt(6, buffer).value(), 0u);
  FaultInjector cold({.nth = 1, .error = EAGAIN, .counts = Only("preadv2")});
  EXPECT_EQ(file.TryReadAt(0, buffer).error().code, Code::kUnavailable);
}

TEST(File, SaysWhereTheFilesystemCannotTellWhatItHas) {
  TempDir dir;
  WriteFile(dir / "a", "content");
  const File file = MustOpen(dir, "a");
  std::array<std::byte, 16> buffer;
  FaultInjector faults(
      {.nth = 1, .error = EOPNOTSUPP, .counts = Only("preadv2")});
  EXPECT_EQ(file.TryReadAt(0, buffer).error().code, Code::kUnimplemented);
}

TEST(File, ThatCannotBeReadSaysSo) {
  TempDir dir;
  WriteFile(dir / "a", "content");
  const File file = MustOpen(dir, "a");
  std::array<std::byte, 16> buffer;
  FaultInjector faults({.nth = 1, .error = EIO, .counts = Only("pread")});
  EXPECT_EQ(file.ReadAt(0, buffer).error().code, Code::kInternal);
}

TEST(OutputFile, AppendsAndCounts) {
  TempDir dir;
  OutputFile file = MustCreate(dir, "a");
  ASSERT_TRUE(file.Write(AsBytes("hello, ")));
  ASSERT_TRUE(file.Write(AsBytes("world")));
  EXPECT_EQ(file.size(), 12);
  ASSERT_TRUE(file.Sync());
  ASSERT_TRUE(file.Close());
  EXPECT_EQ(ReadFile(dir / "a"), "hello, world");
}

TEST(OutputFile, SetsModeAndTimeButNoSetuidBit) {
  TempDir dir;
  OutputFile file = MustCreate(dir, "a");
  ASSERT_TRUE(file.SetMode(06755));
  ASSERT_TRUE(file.SetModified(-1));
  const Stat stat = file.Restat().value();
  EXPECT_EQ(stat.mode, 0755u);
  EXPECT_EQ(stat.mtime, -1);
}

TEST(OutputFile, SaysThatTheDiskIsFull) {
  TempDir dir;
  OutputFile file = MustCreate(dir, "a");
  FaultInjector faults({.nth = 1, .error = ENOSPC, .counts = Only("pwrite")});
  const auto written = file.Write(AsBytes("x"));
  EXPECT_EQ(written.error().code, Code::kResourceExhausted);
  EXPECT_THAT(written.error().message, HasSubstr("no space left"));
  EXPECT_EQ(file.size(), 0);
}

TEST(OutputFile, ReportsALateErrorOnClose) {
  TempDir dir;
  OutputFile file = MustCreate(dir, "a");
  FaultInjector faults({.nth = 1, .error = EDQUOT, .counts = Only("close")});
  EXPECT_EQ(file.Close().error().code, Code::kResourceExhausted);
}

// Content in all positions relative to blocks: begun in the middle of one, a
// hole in between, at the end, and a single byte in a block of zeros.
std::string Holey() {
  std::string content(3 * 1'000'000, '\0');
  content.replace(0, 3, "abc");
  content.replace(1'000'000, 5000, std::string(5000, 'x'));
  content[1'900'000] = 'y';
  return content;
}

TEST(OutputFile, LeavesHolesWhereZerosStand) {
  TempDir dir;
  const std::string content = Holey();
  OutputFile file = MustCreate(dir, "a");
  std::string_view rest = content;
  for (const size_t piece : {3u, 100u, 65'536u, 1'000'001u, 9'999'999u}) {
    ASSERT_TRUE(file.WriteSparse(AsBytes(rest.substr(0, piece))));
    rest.remove_prefix(std::min(piece, rest.size()));
  }
  ASSERT_TRUE(file.FinishSparse());
  struct stat stat;
  ASSERT_EQ(::stat((dir / "a").c_str(), &stat), 0);
  EXPECT_LT(stat.st_blocks * 512, 100'000);
  EXPECT_EQ(file.size(), 3'000'000);
  EXPECT_TRUE(ReadFile(dir / "a") == content);
}

TEST(OutputFile, WritesWhatHasNoHolesInOneCall) {
  TempDir dir;
  OutputFile file = MustCreate(dir, "a");
  FaultInjector watch({});
  ASSERT_TRUE(file.WriteSparse(AsBytes(std::string(40'960, 'x'))));
  EXPECT_EQ(watch.calls(), 1);
}

}  // namespace
}  // namespace casemate::files
