#include "files/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "casemate/bytes.h"
#include "files/for_test.h"

namespace casemate::files {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

AtomicFile MustCreate(const Directory& directory, std::string_view content) {
  auto file = AtomicFile::Create(directory);
  EXPECT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->file().Write(AsBytes(content)));
  return std::move(*file);
}

TEST(AtomicFile, AppearsCompleteUnderItsName) {
  TempDir dir;
  const Directory held = MustHold(dir.path());
  AtomicFile file = MustCreate(held, "content");
  EXPECT_FALSE(held.StatEntry("a"));
  ASSERT_TRUE(file.Publish("a", 0750, Replace::kNo));
  EXPECT_EQ(ReadFile(dir / "a"), "content");
  EXPECT_EQ(held.StatEntry("a")->mode, 0750u);
  EXPECT_THAT(NamesIn(dir.path()), ElementsAre("a"));
}

TEST(AtomicFile, IsNobodyElsesBusinessUntilThen) {
  TempDir dir;
  const Directory held = MustHold(dir.path());
  AtomicFile file = MustCreate(held, "");
  EXPECT_EQ(file.file().Restat()->mode, 0600u);
}

TEST(AtomicFile, RemovesItselfWhenItIsNotPublished) {
  TempDir dir;
  const Directory held = MustHold(dir.path());
  { AtomicFile file = MustCreate(held, "content"); }
  EXPECT_THAT(NamesIn(dir.path()), IsEmpty());
}

TEST(AtomicFile, ReplacesOnlyWhenToldTo) {
  TempDir dir;
  WriteFile(dir / "a", "old");
  const Directory held = MustHold(dir.path());
  {
    AtomicFile file = MustCreate(held, "new");
    EXPECT_EQ(file.Publish("a", 0644, Replace::kNo).error().code,
              Code::kAlreadyExists);
  }
  EXPECT_EQ(ReadFile(dir / "a"), "old");
  AtomicFile file = MustCreate(held, "new");
  EXPECT_TRUE(file.Publish("a", 0644, Replace::kYes));
  EXPECT_EQ(ReadFile(dir / "a"), "new");
  EXPECT_THAT(NamesIn(dir.path()), ElementsAre("a"));
}

TEST(AtomicFile, ReplacesALinkNotWhatItLeadsTo) {
  TempDir dir;
  WriteFile(dir / "target", "old");
  symlink("target", (dir / "a").c_str());
  const Directory held = MustHold(dir.path());
  ASSERT_TRUE(MustCreate(held, "new").Publish("a", 0644, Replace::kYes));
  EXPECT_EQ(ReadFile(dir / "target"), "old");
  EXPECT_EQ(ReadFile(dir / "a"), "new");
}

TEST(AtomicFile, RemovesWhatItWasExchangedWith) {
  TempDir dir;
  WriteFile(dir / "a", "old");
  const Directory held = MustHold(dir.path());
  ASSERT_TRUE(MustCreate(held, "new").Publish("a", 0644, Replace::kExchange));
  EXPECT_EQ(ReadFile(dir / "a"), "new");
  EXPECT_THAT(NamesIn(dir.path()), ElementsAre("a"));
}

TEST(AtomicFile, RefusesNamesThatLeadElsewhere) {
  TempDir dir;
  const Directory held = MustHold(dir.path());
  for (const std::string name : {"..", "a/b", "../a", ""}) {
    EXPECT_EQ(
        MustCreate(held, "").Publish(name, 0644, Replace::kYes).error().code,
        Code::kInvalidArgument);
  }
  EXPECT_THAT(NamesIn(dir.path()), IsEmpty());
}

TEST(AtomicFile, TakesItsTemporaryFileAlongWhenMoved) {
  TempDir dir;
  const Directory held = MustHold(dir.path());
  {
    AtomicFile first = MustCreate(held, "first");
    AtomicFile second = std::move(first);
    EXPECT_EQ(NamesIn(dir.path()).size(), 1u);
    second = MustCreate(held, "another");
    ASSERT_TRUE(second.Publish("a", 0644, Replace::kNo));
  }
  EXPECT_EQ(ReadFile(dir / "a"), "another");
  EXPECT_THAT(NamesIn(dir.path()), ElementsAre("a"));
}

// What goes wrong when a file of 1 MB is published on a disk of 64 KiB.
std::string FillSmallDisk(const std::string& path) {
  if (unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", path.c_str(), "tmpfs", 0, "size=64k") != 0) {
    return "cannot mount";
  }
  const Directory held = MustHold(path);
  {
    auto file = AtomicFile::Create(held);
    const auto written =
        file->file().Write(AsBytes(std::string(1'000'000, 'x')));
    if (written) return "it was written";
    if (written.error().code != Code::kResourceExhausted) return "other code";
  }
  return NamesIn(path).empty() ? "" : "something is left";
}

TEST(AtomicFile, LeavesNothingOnAFullDisk) {
  TempDir dir;
  const std::string outcome =
      InChild([&] { return FillSmallDisk(dir.path()); });
  if (outcome == "cannot mount") GTEST_SKIP() << "mounting takes privileges";
  EXPECT_EQ(outcome, "");
}

TEST(RandomName, IsNewEachTime) {
  const std::string name = RandomName("prefix-");
  EXPECT_TRUE(name.starts_with("prefix-"));
  EXPECT_EQ(name.size(), 7u + 16u);
  EXPECT_NE(name, RandomName("prefix-"));
}

}  // namespace
}  // namespace casemate::files
