#include "files/directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "files/for_test.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

using sys::Call;
using sys::FaultInjector;
using ::testing::HasSubstr;
using testing::ReadFile;
using testing::TempDir;
using ::testing::UnorderedElementsAreArray;
using testing::WriteFile;

void MakeSocket(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address),
                 sizeof(address)),
            0);
}

TEST(Directory, ListsEveryEntryWithItsKind) {
  TempDir dir;
  WriteFile(dir / "file", "");
  mkdir((dir / "directory").c_str(), 0755);
  symlink("nowhere", (dir / "link").c_str());
  mkfifo((dir / "fifo").c_str(), 0600);
  MakeSocket(dir / "socket");
  const Directory held = MustHold(dir.path());
  auto entries = held.List({}).value();
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  std::string listed;
  for (const Entry& entry : entries) {
    listed += entry.name + " is a " + std::string(KindName(entry.kind)) + '\n';
  }
  EXPECT_EQ(listed,
            "directory is a directory\nfifo is a FIFO\nfile is a regular file\n"
            "link is a symbolic link\nsocket is a socket\n");
}

TEST(Directory, ListsAnewEachTime) {
  TempDir dir;
  const Directory held = MustHold(dir.path());
  EXPECT_TRUE(held.List({})->empty());
  WriteFile(dir / "a", "");
  EXPECT_EQ(held.List({})->size(), 1u);
  EXPECT_EQ(held.List({})->size(), 1u);
}

TEST(Directory, ListsManyEntriesEachOnce) {
  TempDir dir;
  const Directory held = MustHold(dir.path());
  std::vector<std::string> made, listed;
  for (int i = 0; i < 1200; ++i) {
    made.push_back("long enough to fill a buffer soon, " + std::to_string(i));
    ASSERT_TRUE(held.MakeSymlink(made.back(), "x"));
  }
  const auto entries = held.List({}).value();
  for (const Entry& entry : entries) listed.push_back(entry.name);
  std::sort(made.begin(), made.end());
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(listed, made);
}

TEST(Directory, StopsListingWhenAsked) {
  TempDir dir;
  std::stop_source source;
  source.request_stop();
  Context ctx;
  ctx.stop = source.get_token();
  EXPECT_EQ(MustHold(dir.path()).List(ctx).error().code, Code::kCancelled);
}

TEST(Directory, KeepsStrangeNamesAsTheyAre) {
  TempDir dir;
  const Directory held = MustHold(dir.path());
  const std::vector<std::string> names = {
      "new\nline",          "quote\"'", "-rf",      "trailing ",
      "not utf-8 \xff\xfe", "*",        "\x1b[31m", std::string(255, 'x')};
  for (const std::string& name : names) {
    auto file = held.CreateFile(name, 0644);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(file->Close());
    ASSERT_TRUE(held.OpenFile(name, held.StatEntry(name).value()));
  }
  EXPECT_THAT(NamesIn(dir.path()), UnorderedElementsAreArray(names));
}

TEST(Directory, RefusesWhatIsNoNameInEveryCall) {
  TempDir dir;
  const Directory held = MustHold(dir.path());
  const auto is_refused = [](const auto& result) {
    return !result && result.error().code == Code::kInvalidArgument;
  };
  for (const std::string name : {"", ".", "..", "a/b", "../x"}) {
    EXPECT_TRUE(is_refused(held.StatEntry(name)));
    EXPECT_TRUE(is_refused(held.ReadLink(name)));
    EXPECT_TRUE(is_refused(held.OpenDirectory(name)));
    EXPECT_TRUE(is_refused(held.OpenFile(name, {})));
    EXPECT_TRUE(is_refused(held.CreateFile(name, 0644)));
    EXPECT_TRUE(is_refused(held.MakeDirectory(name, 0755)));
    EXPECT_TRUE(is_refused(held.MakeSymlink(name, "x")));
    EXPECT_TRUE(is_refused(held.Rename(name, held, "x", Replace::kYes)));
    EXPECT_TRUE(is_refused(held.Rename("x", held, name, Replace::kYes)));
    EXPECT_TRUE(is_refused(held.Unlink(name)));
    EXPECT_TRUE(is_refused(held.RemoveDirectory(name)));
    EXPECT_TRUE(is_refused(held.RemoveTree({}, name)));
    EXPECT_TRUE(is_refused(held.SetEntryAccessed(name, 0)));
  }
}

TEST(Directory, NeverOpensWhatIsNoRegularFile) {
  TempDir dir;
  mkfifo((dir / "fifo").c_str(), 0600);
  MakeSocket(dir / "socket");
  mkdir((dir / "directory").c_str(), 0755);
  symlink("/etc/passwd", (dir / "link").c_str());
  const Directory held = MustHold(dir.path());
  for (const auto name : {"fifo", "socket", "directory", "link"}) {
    const Stat stat = held.StatEntry(name).value();
    FaultInjector watch({});
    EXPECT_EQ(held.OpenFile(name, stat).error().code,
              Code::kFailedPrecondition);
    EXPECT_EQ(watch.calls(), 0) << name;
  }
}

TEST(Directory, NeverOpensADevice) {
  TempDir dir;
  if (mknod((dir / "zero").c_str(), S_IFCHR | 0600, makedev(1, 5)) != 0) {
    GTEST_SKIP() << "only root may make a device";
  }
  const Directory held = MustHold(dir.path());
  const Stat stat = held.StatEntry("zero").value();
  EXPECT_EQ(stat.kind, Kind::kCharacterDevice);
  FaultInjector watch({});
  EXPECT_FALSE(held.OpenFile("zero", stat));
  EXPECT_EQ(watch.calls(), 0);
}

TEST(Directory, RefusesWhateverTookAFilesPlace) {
  TempDir dir;
  WriteFile(dir / "a", "the one that was seen");
  const Directory held = MustHold(dir.path());
  const Stat expected = held.StatEntry("a").value();
  rename((dir / "a").c_str(), (dir / "kept so that its inode is").c_str());
  const auto opened = [&] { return held.OpenFile("a", expected); };
  EXPECT_EQ(opened().error().code, Code::kNotFound);

  WriteFile(dir / "a", "another");
  EXPECT_EQ(opened().error().code, Code::kFailedPrecondition);
  EXPECT_THAT(opened().error().message, HasSubstr("replaced"));

  const auto replace = [&](auto make) {
    ASSERT_TRUE(held.RemoveTree({}, "a"));
    make(dir / "a");
    EXPECT_EQ(opened().error().code, Code::kFailedPrecondition);
  };
  replace([](const std::string& path) { mkfifo(path.c_str(), 0600); });
  replace([](const std::string& path) { mkdir(path.c_str(), 0755); });
  replace([](const std::string& path) { MakeSocket(path); });
  replace(
      [](const std::string& path) { symlink("/etc/passwd", path.c_str()); });
}

TEST(Directory, FollowsNoLink) {
  TempDir dir;
  mkdir((dir / "real").c_str(), 0755);
  symlink("real", (dir / "link").c_str());
  const Directory held = MustHold(dir.path());
  EXPECT_EQ(held.OpenDirectory("link").error().code, Code::kFailedPrecondition);
  EXPECT_EQ(held.StatEntry("link")->kind, Kind::kSymlink);
  EXPECT_EQ(held.ReadLink("link").value(), "real");
  EXPECT_EQ(held.ReadLink("real").error().code, Code::kFailedPrecondition);
}

TEST(Directory, CreatesNothingThroughADanglingLink) {
  TempDir dir;
  symlink("made", (dir / "link").c_str());
  const Directory held = MustHold(dir.path());
  EXPECT_EQ(held.CreateFile("link", 0644).error().code, Code::kAlreadyExists);
  EXPECT_EQ(held.MakeDirectory("link", 0755).error().code,
            Code::kAlreadyExists);
  EXPECT_EQ(held.StatEntry("made").error().code, Code::kNotFound);
}

TEST(Directory, SaysWhoMayNotAndToWhat) {
  TempDir dir;
  WriteFile(dir / "secret", "");
  chmod((dir / "secret").c_str(), 0);
  mkdir((dir / "closed").c_str(), 0);
  EXPECT_EQ(AsOrdinaryUser(
                dir,
                [&]() -> std::string {
                  const Directory held = MustHold(dir.path());
                  const Stat stat = held.StatEntry("secret").value();
                  return held.OpenFile("secret", stat).error().message + "; " +
                         held.OpenDirectory("closed").error().message;
                }),
            "open secret: permission denied; open closed: permission denied");
  chmod((dir / "closed").c_str(), 0700);  // So that it can be removed.
}

TEST(Directory, RenamesOntoNothingUnlessToldTo) {
  TempDir dir;
  WriteFile(dir / "a", "a");
  WriteFile(dir / "b", "b");
  const Directory held = MustHold(dir.path());
  EXPECT_EQ(held.Rename("a", held, "b", Replace::kNo).error().code,
            Code::kAlreadyExists);
  EXPECT_EQ(ReadFile(dir / "b"), "b");
  EXPECT_TRUE(held.Rename("a", held, "b", Replace::kYes));
  EXPECT_EQ(ReadFile(dir / "b"), "a");
  EXPECT_TRUE(held.Rename("b", held, "c", Replace::kNo));
}

TEST(Directory, RenamesOntoNothingEvenWhereTheFilesystemHasNoSuchCall) {
  TempDir dir;
  WriteFile(dir / "a", "a");
  WriteFile(dir / "b", "b");
  const Directory held = MustHold(dir.path());
  FaultInjector faults(
      {.nth = 1,
       .error = EINVAL,
       .for_good = true,
       .counts = [](const Call& call) { return call.name == "renameat2"; }});
  EXPECT_EQ(held.Rename("a", held, "b", Replace::kNo).error().code,
            Code::kAlreadyExists);
  EXPECT_TRUE(held.Rename("a", held, "c", Replace::kNo));
  EXPECT_EQ(NamesIn(dir.path()), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(held.Rename("b", held, "c", Replace::kExchange).error().code,
            Code::kUnimplemented);
}

TEST(Directory, ExchangesTwoEntriesOfAnyKind) {
  TempDir dir;
  WriteFile(dir / "a", "file");
  mkdir((dir / "b").c_str(), 0755);
  const Directory held = MustHold(dir.path());
  ASSERT_TRUE(held.Rename("a", held, "b", Replace::kExchange));
  EXPECT_EQ(held.StatEntry("a")->kind, Kind::kDirectory);
  EXPECT_EQ(ReadFile(dir / "b"), "file");
}

TEST(Directory, SetsModesAndTimes) {
  TempDir dir;
  WriteFile(dir / "a", "");
  const Directory held = MustHold(dir.path());
  ASSERT_TRUE(held.SetMode(07711));
  ASSERT_TRUE(held.SetModified(1'500'000'000'123'456'789));
  ASSERT_TRUE(held.SetEntryAccessed("a", 42));
  EXPECT_EQ(held.StatSelf()->mode, 0711u);
  EXPECT_EQ(held.StatSelf()->mtime, 1'500'000'000'123'456'789);
  EXPECT_EQ(held.StatEntry("a")->atime, 42);
}

TEST(Directory, HoldsItsPlaceWhereverItIsMovedTo) {
  TempDir dir;
  mkdir((dir / "a").c_str(), 0755);
  const Directory held = MustHold(dir / "a");
  rename((dir / "a").c_str(), (dir / "b").c_str());
  ASSERT_TRUE(held.MakeDirectory("x", 0755));
  EXPECT_EQ(NamesIn(dir / "b"), std::vector<std::string>{"x"});
}

TEST(Stat, KeepsTimesBeyondItsReachAtTheEdge) {
  struct stat system = {};
  system.st_mtim = {INT64_MAX / 2, 0};
  system.st_atim = {INT64_MIN / 2, 0};
  EXPECT_EQ(FromSystem(system).mtime, INT64_MAX);
  EXPECT_EQ(FromSystem(system).atime, INT64_MIN);
}

}  // namespace
}  // namespace casemate::files
