#include "tree/capture.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "digest/hasher.h"
#include "testing/store_helpers.h"
#include "testing/temp_dir.h"
#include "tree/capture_run.h"
#include "tree/lookup.h"
#include "tree/plan.h"

namespace casemate::tree {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr files::RootOptions kFollow = {.links = files::Links::kFollow};

// A scratch directory to capture.
class CaptureTest : public ::testing::Test {
 protected:
  void File(const std::string& name, const std::string& content = "x") {
    testing::WriteFile(dir_ / name, content);
  }
  void Dir(const std::string& name) { fs::create_directory(dir_ / name); }
  void Link(const std::string& target, const std::string& name) {
    fs::create_symlink(target, dir_ / name);
  }
  CaptureRun Run(CaptureOptions options = {}, files::RootOptions root = {}) {
    return RunCapture(dir_.path(), std::move(options), root).value();
  }
  static Directory RootOf(const CaptureRun& run) {
    return FetchDirectory({}, *run.store, run.captured.root).value();
  }

  testing::TempDir dir_;
};

// As in Directory.HasTheDigestThatAnIndependentEncoderComputes.
TEST_F(CaptureTest, GivesTheDigestThatAnIndependentEncoderComputes) {
  File("a", "");
  File("a-b", "hello\n");
  File("a.b", "hello\n");
  File("ab", std::string(300, 'x'));
  File("\uFF21", "1");
  File("\U0001F600", "2");
  Dir("empty");
  Dir("sub");
  File("sub/run.sh", "#!/bin/sh\n");
  chmod((dir_ / "sub/run.sh").c_str(), 0755);
  Link("../foo/../bar", "link");
  const CaptureRun run = Run();
  EXPECT_EQ(run.captured.root.ToString(),
            "93ec042ca48e4e25b4501cce958a961a0a6d53b6d6c1b883fd9f3c988f7e5a2f/"
            "636");
  EXPECT_EQ(run.captured.files, 7);
  EXPECT_EQ(run.captured.directories, 3);
  EXPECT_EQ(run.captured.symlinks, 1);
  EXPECT_EQ(run.captured.bytes, 0 + 6 + 6 + 300 + 1 + 1 + 10);
}

TEST_F(CaptureTest, OfAnEmptyDirectoryIsTheEmptyDigest) {
  EXPECT_TRUE(digest::IsEmpty(Run().captured.root));
}

TEST_F(CaptureTest, HandsOutChildrenBeforeTheirDirectory) {
  Dir("d");
  File("d/f", "content");
  const CaptureRun run = Run();
  const Digest directory = RootOf(run).directories[0].digest;
  EXPECT_THAT(run.blobs, ElementsAre(testing::DigestOf("content"), directory,
                                     run.captured.root));
}

TEST_F(CaptureTest, UsesTheDigestFunctionAskedFor) {
  File("f", "x");
  const CaptureRun run = Run({.function = DigestFunction::kSha512});
  EXPECT_EQ(run.captured.root.function(), DigestFunction::kSha512);
  EXPECT_EQ(RootOf(run).files[0].digest.function(), DigestFunction::kSha512);
}

TEST_F(CaptureTest, KeepsOddNames) {
  for (const char* name : {"a\nb", "\"", "'", "-rf", "a ", " ", "\\", "*"}) {
    File(name);
  }
  EXPECT_EQ(RootOf(Run()).files.size(), 8u);
}

TEST_F(CaptureTest, R154ReportsNamesThatAreNotUtf8AndGoesOn) {
  File("a\xff");
  File("b");
  Dir("d\xc0\x80");
  const CaptureRun run = Run();
  EXPECT_THAT(run.failed_paths(), UnorderedElementsAre("a\xff", "d\xc0\x80"));
  EXPECT_EQ(run.failed[0].second.code, Code::kInvalidArgument);
  EXPECT_EQ(RootOf(run).files.size(), 1u);
  EXPECT_TRUE(RootOf(run).directories.empty());
}

TEST_F(CaptureTest, R154ReportsTargetsThatAreNotUtf8) {
  Link("\xff", "l");
  EXPECT_THAT(Run().failed_paths(), ElementsAre("l"));
}

TEST_F(CaptureTest, R155KeepsLinksAsTheyAreWhateverTheyLeadTo) {
  Link("/etc", "absolute");
  Link("nowhere/../..//x", "dangling");
  Link("self", "self");
  const CaptureRun run = Run();
  const Directory root = RootOf(run);
  ASSERT_EQ(root.symlinks.size(), 3u);
  EXPECT_EQ(root.symlinks[0].target, "/etc");
  EXPECT_EQ(root.symlinks[1].target, "nowhere/../..//x");
  EXPECT_THAT(run.failed, IsEmpty());
}

TEST_F(CaptureTest, SkipsFifosAndSocketsWithoutOpeningThem) {
  ASSERT_EQ(mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  const int held = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  (dir_ / "socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(held, reinterpret_cast<sockaddr*>(&address), sizeof address),
            0);
  close(held);
  const CaptureRun run = Run();
  EXPECT_THAT(run.skipped, UnorderedElementsAre(Pair("fifo", "FIFO"),
                                                Pair("socket", "socket")));
  EXPECT_THAT(run.failed, IsEmpty());
  EXPECT_TRUE(digest::IsEmpty(run.captured.root));
}

TEST_F(CaptureTest, SkipsDevices) {
  if (mknod((dir_ / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    GTEST_SKIP() << "only root may make devices";
  }
  EXPECT_THAT(Run().skipped, ElementsAre(Pair("device", "character device")));
}

// Runs `test` in a child, as an ordinary user; it returns whether all is well.
template <typename Test>
bool AsOrdinaryUser(Test test) {
  const pid_t child = fork();
  if (child == 0) {
    const bool ordinary =
        geteuid() != 0 || (setresgid(65534, 65534, 65534) == 0 &&
                           setresuid(65534, 65534, 65534) == 0);
    _exit(ordinary && test() ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(CaptureTest, ReportsWhatItMayNotReadAndGoesOn) {
  File("secret");
  File("plain");
  Dir("closed");
  File("closed/f");
  chmod((dir_ / "secret").c_str(), 0);
  chmod((dir_ / "closed").c_str(), 0);
  chmod(dir_.path().c_str(), 0755);
  EXPECT_TRUE(AsOrdinaryUser([&] {
    const CaptureRun run = Run();
    return run.failed.size() == 2 &&
           std::ranges::all_of(run.failed,
                               [](const auto& entry) {
                                 return entry.second.code ==
                                        Code::kPermissionDenied;
                               }) &&
           RootOf(run).files.size() == 1 && RootOf(run).directories.empty();
  }));
  chmod((dir_ / "closed").c_str(), 0700);
}

TEST_F(CaptureTest, FailsAltogetherWhenTheRootCannotBeListed) {
  chmod(dir_.path().c_str(), 0311);
  EXPECT_TRUE(AsOrdinaryUser([&] {
    const auto run = RunCapture(dir_.path());
    return !run && run.error().code == Code::kPermissionDenied;
  }));
  chmod(dir_.path().c_str(), 0700);
}

TEST_F(CaptureTest, MarksAFileExecutableThatAnybodyMayExecute) {
  File("a");
  File("b");
  chmod((dir_ / "b").c_str(), 0601);
  const Directory root = RootOf(Run());
  EXPECT_FALSE(root.files[0].executable);
  EXPECT_TRUE(root.files[1].executable);
}

TEST_F(CaptureTest, RecordsNoPropertiesUnlessAsked) {
  File("f");
  EXPECT_TRUE(RootOf(Run()).files[0].properties.empty());
  EXPECT_TRUE(RootOf(Run()).properties.empty());
}

TEST_F(CaptureTest, RecordsTimesAndModesButNeverSetuid) {
  File("f");
  Link("f", "l");
  const timespec times[2] = {{1, 0}, {1'700'000'000, 123'456'789}};
  chmod((dir_ / "f").c_str(), 06751);
  utimensat(AT_FDCWD, (dir_ / "f").c_str(), times, 0);
  utimensat(AT_FDCWD, (dir_ / "l").c_str(), times, AT_SYMLINK_NOFOLLOW);
  chmod(dir_.path().c_str(), 01750);
  utimensat(AT_FDCWD, dir_.path().c_str(), times, 0);
  const Directory root = RootOf(Run({.record_properties = true}));
  constexpr int64_t kTime = 1'700'000'000'123'456'789;
  EXPECT_EQ(root.files[0].properties, (Properties{kTime, 0751}));
  EXPECT_EQ(root.symlinks[0].properties, (Properties{kTime, {}}));
  EXPECT_EQ(root.properties, (Properties{kTime, 0750}));
}

TEST_F(CaptureTest, ReportsDirectoriesBelowTheDeepestAllowed) {
  fs::create_directories(dir_ / "a/b/c");
  File("a/b/f");
  const CaptureRun run = Run({.max_depth = 2});
  EXPECT_THAT(run.failed_paths(), ElementsAre("a/b/c"));
  EXPECT_EQ(run.failed[0].second.code, Code::kResourceExhausted);
  EXPECT_EQ(run.captured.directories, 3);
  EXPECT_EQ(run.captured.files, 1);
}

TEST_F(CaptureTest, LeavesOutWhatTheFilterExcludes) {
  File("a.o");
  File("a.c");
  Dir("build");
  File("build/a.c");
  CaptureOptions options;
  options.filter = Filter::Make({{false, "*.o"}, {false, "/build/"}}).value();
  const CaptureRun run = Run(std::move(options));
  EXPECT_EQ(RootOf(run).files.size(), 1u);
  EXPECT_TRUE(RootOf(run).directories.empty());
  EXPECT_THAT(run.failed, IsEmpty());
}

TEST_F(CaptureTest, SaysNothingOfExcludedEntriesThatWouldFail) {
  File("a\xff");
  Link("nowhere", "b");
  ASSERT_EQ(mkfifo((dir_ / "c").c_str(), 0600), 0);
  CaptureOptions options;
  options.filter = Filter::Make({{false, "*"}}).value();
  const CaptureRun run = Run(std::move(options), kFollow);
  EXPECT_THAT(run.failed, IsEmpty());
  EXPECT_THAT(run.skipped, IsEmpty());
}

// /proc is another file system on every Linux.
TEST(Capture, SkipsMountPointsWhenItStaysOnOneFileSystem) {
  CaptureOptions options{.one_file_system = true};
  options.filter = Filter::Make({{false, "/*"}, {true, "/proc"}}).value();
  const CaptureRun run = RunCapture("/", std::move(options)).value();
  EXPECT_THAT(run.skipped, ElementsAre(Pair("proc", "another file system")));
  EXPECT_TRUE(digest::IsEmpty(run.captured.root));
}

TEST(Capture, ReadsFilesWhoseSizeSaysNothing) {
  CaptureOptions options;
  options.filter = Filter::Make({{false, "*"}, {true, "/version"}}).value();
  const CaptureRun run = RunCapture("/proc", std::move(options)).value();
  EXPECT_EQ(run.captured.files, 1);
  EXPECT_GT(run.captured.bytes, 0);
}

TEST_F(CaptureTest, FollowingTakesTargetsForLinks) {
  testing::TempDir outside;
  testing::WriteFile(outside / "f", "outside");
  File("inside", "inside");
  Link("inside", "file");
  Link(outside.path(), "directory");
  const CaptureRun run = Run({}, kFollow);
  const Directory root = RootOf(run);
  EXPECT_EQ(root.files[0].name, "file");
  EXPECT_EQ(root.files[0].digest, testing::DigestOf("inside"));
  EXPECT_EQ(root.directories[0].name, "directory");
  EXPECT_EQ(run.captured.files, 3);
  EXPECT_TRUE(root.symlinks.empty());
}

TEST_F(CaptureTest, FollowingReportsDanglingLinks) {
  Link("nowhere", "l");
  Link("self", "self");
  EXPECT_THAT(Run({}, kFollow).failed_paths(), ElementsAre("l", "self"));
}

TEST_F(CaptureTest, FollowingReportsALoopAndEnds) {
  fs::create_directories(dir_ / "a/b");
  Link("..", "a/b/up");
  Link(".", "here");
  const CaptureRun run = Run({}, kFollow);
  EXPECT_THAT(run.failed_paths(), UnorderedElementsAre("a/b/up", "here"));
  EXPECT_THAT(run.failed[0].second.message, HasSubstr("loop"));
}

TEST_F(CaptureTest, FollowingSeesADirectoryTwiceWhereThatIsNoLoop) {
  Dir("a");
  File("a/f");
  Link("a", "b");
  const Directory root = RootOf(Run({}, kFollow));
  EXPECT_EQ(root.directories[0].digest, root.directories[1].digest);
}

TEST_F(CaptureTest, HoldsADirectoryOfAHundredThousandEntries) {
  for (int i = 0; i < 100'000; ++i) {  // Hard links are quick to make.
    const std::string first = dir_ / ("first" + std::to_string(i / 50'000));
    if (i % 50'000 == 0) testing::WriteFile(first, "x");
    ASSERT_EQ(link(first.c_str(), (dir_ / std::to_string(i)).c_str()), 0);
  }
  const CaptureRun run = Run();
  EXPECT_EQ(run.captured.files, 100'002);
  EXPECT_EQ(RootOf(run).files.size(), 100'002u);
}

// Far beyond PATH_MAX, in which 2,048 of these names fit.
TEST_F(CaptureTest, GoesFiveThousandDeepAndSoDoesThePlan) {
  auto held = files::Root::Open(dir_.path())->OpenDirectory("").value();
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(held.MakeDirectory("d", 0755));
    held = held.OpenDirectory("d").value();
  }
  ASSERT_TRUE(held.CreateFile("f", 0644)->Write(AsBytes("deep")));
  const CaptureRun run = Run();
  EXPECT_EQ(run.captured.directories, 5001);
  EXPECT_EQ(run.captured.files, 1);
  const auto plan = Plan::Fetch({}, *run.store, run.captured.root);
  EXPECT_EQ(plan->totals().depth, 5000);
  EXPECT_EQ(plan->contents()[0].digest, testing::DigestOf("deep"));
  ASSERT_TRUE(files::Root::Open(dir_.path())
                  ->OpenDirectory("")
                  ->RemoveTree({}, "d"));  // std::filesystem cannot.
}

// A random tree below `path`; what was made, as Describe shows it.
void Grow(const fs::path& path, std::mt19937& random, int depth) {
  for (unsigned i = 0; i < random() % 6; ++i) {
    const fs::path name = path / ("n" + std::to_string(random() % 1000));
    const unsigned kind = random() % 4;
    if (fs::exists(fs::symlink_status(name))) continue;
    if (kind == 0 && depth > 0) {
      fs::create_directory(name);
      Grow(name, random, depth - 1);
    } else if (kind == 1) {
      fs::create_symlink("t" + std::to_string(random() % 9), name);
    } else {
      testing::WriteFile(name, std::string(random() % 3000, 'x'));
      if (kind == 2) fs::permissions(name, fs::perms(0755));
    }
  }
}

std::vector<std::string> DescribeDisk(const fs::path& root) {
  std::vector<std::string> lines;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    std::string line = entry.path().lexically_relative(root);
    if (entry.is_symlink()) {
      line += " -> " + fs::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      const bool executable = (entry.status().permissions() &
                               fs::perms::owner_exec) != fs::perms::none;
      line += executable ? " x " : " - ";
      line += testing::DigestOf(testing::ReadFile(entry.path())).ToString();
    }
    lines.push_back(line);
  }
  std::ranges::sort(lines);
  return lines;
}

std::vector<std::string> DescribePlan(const Plan& plan) {
  std::vector<std::string> lines;
  for (uint32_t place = 0; place < plan.places().size(); ++place) {
    const std::string path = plan.PathOf(place);
    if (place != 0) lines.push_back(path);
    const Directory& directory = *plan.places()[place].directory;
    for (const FileNode& file : directory.files) {
      lines.push_back(files::Join(path, file.name) +
                      (file.executable ? " x " : " - ") +
                      file.digest.ToString());
    }
    for (const SymlinkNode& link : directory.symlinks) {
      lines.push_back(files::Join(path, link.name) + " -> " + link.target);
    }
  }
  std::ranges::sort(lines);
  return lines;
}

TEST(Capture, AndPlanAgreeOnAnyTree) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    testing::TempDir dir;
    std::mt19937 random(seed);
    Grow(dir.path(), random, 5);
    const CaptureRun run = RunCapture(dir.path(), {.keep_bytes = 1000}).value();
    EXPECT_THAT(run.failed, IsEmpty());
    const auto plan = Plan::Fetch({}, *run.store, run.captured.root).value();
    EXPECT_EQ(DescribePlan(plan), DescribeDisk(dir.path()));
    EXPECT_EQ(plan.totals().files, run.captured.files);
    EXPECT_EQ(plan.totals().bytes, run.captured.bytes);
    EXPECT_EQ(plan.totals().directories, run.captured.directories);
  }
}

}  // namespace
}  // namespace casemate::tree
