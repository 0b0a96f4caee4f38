#include "files/file_source.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "files/for_test.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

using sys::Call;
using sys::FaultInjector;
using ::testing::HasSubstr;
using testing::TempDir;
using testing::WriteFile;

// What `reader` gives from now on, in small pieces.
Result<std::string> Drain(Reader& reader) {
  std::string all, piece(7, '\0');
  for (;;) {
    auto got = reader.Read({}, std::as_writable_bytes(std::span(piece)));
    if (!got) return got.error();
    if (*got == 0) return all;
    all += piece.substr(0, *got);
  }
}

class FileSourceTest : public ::testing::Test {
 protected:
  FileSourceTest() : root_(MustRoot(dir_.path())) {
    WriteFile(dir_ / "f", "hello, world");
    source_ = MakeFileSource(root_, "f", root_.StatPath("f").value());
  }

  // A reader that has read the first bytes.
  std::unique_ptr<Reader> Begun() {
    auto reader = source_->Open({}, 0).value();
    std::array<std::byte, 4> buffer;
    EXPECT_EQ(reader->Read({}, buffer).value(), 4u);
    return reader;
  }

  void ExpectChanged(Reader& reader) {
    const auto all = Drain(reader);
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().code, Code::kFailedPrecondition);
    EXPECT_EQ(all.error().message, "read f: changed while it was read");
  }

  TempDir dir_;
  Root root_;
  std::unique_ptr<Source> source_;
};

TEST_F(FileSourceTest, ReadsFromAnyOffsetAgainAndAgain) {
  EXPECT_EQ(source_->size(), 12);
  EXPECT_EQ(Drain(*source_->Open({}, 0).value()).value(), "hello, world");
  EXPECT_EQ(Drain(*source_->Open({}, 7).value()).value(), "world");
  EXPECT_EQ(Drain(*source_->Open({}, 12).value()).value(), "");
  EXPECT_EQ(source_->Open({}, 13).error().code, Code::kOutOfRange);
  EXPECT_EQ(source_->Open({}, -1).error().code, Code::kOutOfRange);
}

TEST_F(FileSourceTest, HoldsNoDescriptorWhileNobodyReads) {
  const size_t before = CountDescriptors();
  const auto another = MakeFileSource(root_, "f", root_.StatPath("f").value());
  (void)Drain(*another->Open({}, 0).value());
  EXPECT_EQ(CountDescriptors(), before);
}

TEST_F(FileSourceTest, RefusesAFileThatWasReplaced) {
  WriteFile(dir_ / "g", "hello, world");
  rename((dir_ / "g").c_str(), (dir_ / "f").c_str());
  EXPECT_EQ(source_->Open({}, 0).error().code, Code::kFailedPrecondition);
}

TEST_F(FileSourceTest, RefusesAFileThatWasWrittenBefore) {
  std::ofstream(dir_ / "f", std::ios::app) << "!";
  EXPECT_EQ(source_->Open({}, 0).error().code, Code::kFailedPrecondition);
}

TEST_F(FileSourceTest, NoticesAFileThatGrows) {
  const auto reader = Begun();
  std::ofstream(dir_ / "f", std::ios::app) << "!";
  ExpectChanged(*reader);
}

TEST_F(FileSourceTest, NoticesAFileThatShrinks) {
  const auto reader = Begun();
  ASSERT_EQ(truncate((dir_ / "f").c_str(), 6), 0);
  ExpectChanged(*reader);
}

TEST_F(FileSourceTest, NoticesAFileThatIsTouched) {
  const auto reader = Begun();
  const timespec times[2] = {{0, UTIME_OMIT}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (dir_ / "f").c_str(), times, 0), 0);
  ExpectChanged(*reader);
}

TEST_F(FileSourceTest, NeverMixesAFileWithTheOneThatReplacesIt) {
  const auto reader = Begun();
  WriteFile(dir_ / "g", "HELLO, WORLD");
  rename((dir_ / "g").c_str(), (dir_ / "f").c_str());
  // Whether losing its name shows in the old file's times depends on the clock.
  const auto all = Drain(*reader);
  EXPECT_EQ(all.value_or("o, world"), "o, world");
}

TEST_F(FileSourceTest, NeverHandsOutTheLastBytesOfAChangedFile) {
  const auto reader = Begun();
  std::ofstream(dir_ / "f", std::ios::app) << "!";
  std::array<std::byte, 8> rest;
  EXPECT_FALSE(reader->Read({}, rest));
}

TEST_F(FileSourceTest, SaysWhichFileCannotBeRead) {
  const auto reader = source_->Open({}, 0).value();
  FaultInjector faults({.nth = 1, .error = EIO, .counts = [](const Call& call) {
                          return call.name == "pread";
                        }});
  EXPECT_THAT(Drain(*reader).error().message, HasSubstr("f: "));
}

TEST_F(FileSourceTest, StopsWhenAsked) {
  const auto reader = source_->Open({}, 0).value();
  std::stop_source stop;
  stop.request_stop();
  Context ctx;
  ctx.stop = stop.get_token();
  std::array<std::byte, 8> buffer;
  EXPECT_EQ(reader->Read(ctx, buffer).error().code, Code::kCancelled);
  EXPECT_EQ(source_->Open(ctx, 0).error().code, Code::kCancelled);
}

TEST(FileSource, ReadsAFileWhoseSizeSaysNothing) {
  const Root root = MustRoot("/proc");
  const auto source =
      MakeFileSource(root, "version", root.StatPath("version").value());
  const auto all = Drain(*source->Open({}, 0).value());
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_THAT(*all, HasSubstr("Linux"));
}

}  // namespace
}  // namespace casemate::files
