#include "files/root.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

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

// A tree with links at each position:
//   in/a/b/f  in/a/f          files
//   in/a/up -> b              a link to a directory
//   in/a/out -> ../../out     one that leads outside
//   in/a/l -> f               a link to a file
//   out/f                     must not be reached
class RootTest : public ::testing::TestWithParam<Resolver> {
 protected:
  RootTest() {
    std::filesystem::create_directories(dir_ / "in/a/b");
    std::filesystem::create_directories(dir_ / "out");
    WriteFile(dir_ / "in/a/b/f", "inner");
    WriteFile(dir_ / "in/a/f", "file");
    WriteFile(dir_ / "out/f", "secret");
    symlink("b", (dir_ / "in/a/up").c_str());
    symlink("../../out", (dir_ / "in/a/out").c_str());
    symlink("f", (dir_ / "in/a/l").c_str());
  }

  void SetUp() override {
    if (GetParam() == Resolver::kOpenat2 && !sys::HasOpenAt2()) {
      GTEST_SKIP() << "this kernel has no openat2, or forbids it";
    }
  }

  Root OpenRoot(Links links = Links::kRefuse) const {
    return MustRoot(dir_ / "in", {links, GetParam()});
  }

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(Resolvers, RootTest,
                         ::testing::Values(Resolver::kOpenat2,
                                           Resolver::kComponentWalk),
                         [](const auto& param) {
                           return param.param == Resolver::kOpenat2
                                      ? "Openat2"
                                      : "ComponentWalk";
                         });

TEST_P(RootTest, OpensFilesAndDirectoriesByPath) {
  const Root root = OpenRoot();
  EXPECT_EQ(ContentOf(root.OpenFile("a/b/f").value()), "inner");
  EXPECT_EQ(root.OpenDirectory("a/b")->List({})->size(), 1u);
  EXPECT_EQ(root.OpenDirectory("")->List({})->size(), 1u);
  EXPECT_EQ(root.StatPath("")->kind, Kind::kDirectory);
  EXPECT_EQ(root.StatPath("a/f")->size, 4);
}

TEST_P(RootTest, SaysWhatIsNotThere) {
  const Root root = OpenRoot();
  EXPECT_EQ(root.OpenFile("a/x").error().code, Code::kNotFound);
  EXPECT_EQ(root.OpenFile("a/x").error().message,
            "stat a/x: no such file or directory");
  EXPECT_EQ(root.OpenDirectory("x/y/z").error().code, Code::kNotFound);
  EXPECT_EQ(root.OpenDirectory("a/f").error().code, Code::kNotFound);
  EXPECT_EQ(root.CreateFile("x/y", 0644).error().code, Code::kNotFound);
  EXPECT_EQ(root.OpenFile("a/f/g").error().code, Code::kNotFound);
}

TEST_P(RootTest, RefusesLinksAtEachPosition) {
  const Root root = OpenRoot();
  const auto refused = [](const auto& result) {
    return !result && result.error().code == Code::kFailedPrecondition;
  };
  EXPECT_TRUE(refused(root.OpenFile("a/l")));
  EXPECT_TRUE(refused(root.OpenDirectory("a/up")));
  for (const std::string link : {"a/up", "a/out"}) {
    EXPECT_TRUE(refused(root.OpenFile(link + "/f"))) << link;
    EXPECT_TRUE(refused(root.StatPath(link + "/f"))) << link;
    EXPECT_TRUE(refused(root.OpenDirectory(link + "/d/e"))) << link;
    EXPECT_TRUE(refused(root.CreateFile(link + "/new", 0644))) << link;
    EXPECT_TRUE(refused(root.MakeDirectory(link + "/new", 0755))) << link;
    EXPECT_TRUE(refused(root.MakeSymlink(link + "/new", "x"))) << link;
    EXPECT_TRUE(refused(root.MakeDirectories(link + "/new/er", 0755))) << link;
  }
  EXPECT_EQ(NamesIn(dir_ / "out"), std::vector<std::string>{"f"});
  EXPECT_EQ(NamesIn(dir_ / "in/a/b"), std::vector<std::string>{"f"});
}

TEST_P(RootTest, RefusesALinkInTheNameOfTheFileThatWasThere) {
  const Root root = OpenRoot();
  const Stat expected = root.StatPath("a/f").value();
  const auto error = root.OpenFile("a/l", expected).error();
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_THAT(error.message, HasSubstr("became a symbolic link"));
}

TEST_P(RootTest, StatsALinkItself) {
  EXPECT_EQ(OpenRoot().StatPath("a/out")->kind, Kind::kSymlink);
}

TEST_P(RootTest, RefusesPathsThatAreNotPlain) {
  const Root root = OpenRoot();
  for (const std::string path : {"..", "../out/f", "a/../../out/f",
                                 "/etc/passwd", "a//f", "a/f/", "./a", "a/."}) {
    EXPECT_EQ(root.OpenFile(path).error().code, Code::kInvalidArgument);
    EXPECT_EQ(root.OpenDirectory(path).error().code, Code::kInvalidArgument);
    EXPECT_EQ(root.StatPath(path).error().code, Code::kInvalidArgument);
    EXPECT_EQ(root.CreateFile(path, 0644).error().code, Code::kInvalidArgument);
    EXPECT_EQ(root.MakeDirectory(path, 0755).error().code,
              Code::kInvalidArgument);
    EXPECT_EQ(root.MakeSymlink(path, "x").error().code, Code::kInvalidArgument);
    EXPECT_EQ(root.MakeDirectories(path, 0755).error().code,
              Code::kInvalidArgument);
  }
}

TEST_P(RootTest, DoesNotMakeTheRootItself) {
  const Root root = OpenRoot();
  EXPECT_FALSE(root.OpenFile(""));
  EXPECT_FALSE(root.CreateFile("", 0644));
  EXPECT_FALSE(root.MakeDirectory("", 0755));
  EXPECT_FALSE(root.MakeSymlink("", "x"));
  EXPECT_TRUE(root.MakeDirectories("", 0755));
}

TEST_P(RootTest, CreatesFilesDirectoriesAndLinks) {
  const Root root = OpenRoot();
  ASSERT_TRUE(root.MakeDirectory("a/d", 0755));
  ASSERT_TRUE(root.MakeSymlink("a/d/l", "../../anything"));
  auto file = root.CreateFile("a/d/f", 0755);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write(AsBytes("x")));
  EXPECT_EQ(ReadFile(dir_ / "in/a/d/f"), "x");
  EXPECT_TRUE(root.StatPath("a/d/f")->executable());
  EXPECT_EQ(root.CreateFile("a/d/f", 0644).error().code, Code::kAlreadyExists);
  EXPECT_EQ(root.MakeDirectory("a/d", 0755).error().code, Code::kAlreadyExists);
  EXPECT_EQ(root.CreateFile("a/d/l", 0644).error().code, Code::kAlreadyExists);
}

TEST_P(RootTest, MakesTheDirectoriesThatAreMissing) {
  const Root root = OpenRoot();
  ASSERT_TRUE(root.MakeDirectories("a/b/c/d", 0755));
  ASSERT_TRUE(root.MakeDirectories("a/b/c/d", 0755));
  EXPECT_TRUE(root.OpenDirectory("a/b/c/d"));
  EXPECT_EQ(root.MakeDirectories("a/f/g", 0755).error().code,
            Code::kAlreadyExists);
}

TEST_P(RootTest, FollowsLinksWhenTheOperatorWishesIt) {
  const Root root = OpenRoot(Links::kFollow);
  EXPECT_EQ(ContentOf(root.OpenFile("a/l").value()), "file");
  EXPECT_EQ(ContentOf(root.OpenFile("a/out/f").value()), "secret");
  EXPECT_EQ(root.StatPath("a/up")->kind, Kind::kDirectory);
  EXPECT_TRUE(root.OpenDirectory("a/up"));
  EXPECT_EQ(root.links(), Links::kFollow);
}

TEST_P(RootTest, EndsLoopsOfLinks) {
  symlink("loop", (dir_ / "in/loop").c_str());
  symlink("nowhere", (dir_ / "in/dangling").c_str());
  const Root root = OpenRoot(Links::kFollow);
  EXPECT_EQ(root.OpenFile("loop").error().code, Code::kFailedPrecondition);
  EXPECT_EQ(root.OpenFile("dangling").error().code, Code::kNotFound);
}

TEST_P(RootTest, SurvivesTheRemovalOfItsDirectory) {
  const Root root = OpenRoot();
  std::filesystem::remove_all(dir_ / "in");
  EXPECT_EQ(root.OpenFile("a/f").error().code, Code::kNotFound);
  EXPECT_EQ(root.CreateFile("f", 0644).error().code, Code::kNotFound);
}

TEST_P(RootTest, RefusesAnotherFileUnderTheName) {
  const Root root = OpenRoot();
  const Stat expected = root.StatPath("a/f").value();
  rename((dir_ / "in/a/b/f").c_str(), (dir_ / "in/a/f").c_str());
  EXPECT_EQ(root.OpenFile("a/f", expected).error().code,
            Code::kFailedPrecondition);
}

TEST_P(RootTest, NeverWaitsForAFifo) {
  mkfifo((dir_ / "in/a/fifo").c_str(), 0600);
  const Root root = OpenRoot();
  EXPECT_THAT(root.OpenFile("a/fifo").error().message, HasSubstr("FIFO"));
  const Stat expected = root.StatPath("a/f").value();
  EXPECT_EQ(root.OpenFile("a/fifo", expected).error().code,
            Code::kFailedPrecondition);
}

TEST_P(RootTest, LetsItsChildrenOutliveIt) {
  auto root = std::make_unique<Root>(OpenRoot());
  const Directory child = root->OpenDirectory("a").value();
  root.reset();
  EXPECT_TRUE(child.StatEntry("f"));
}

TEST_P(RootTest, LeaksNoDescriptor) {
  const size_t before = CountDescriptors();
  {
    const Root root = OpenRoot();
    (void)root.OpenFile("a/b/f");
    (void)root.OpenFile("a/out/f");
    (void)root.OpenFile("a/b/x");
    (void)root.OpenDirectory("a/f");
    (void)root.MakeDirectory("a/b/c", 0755);
    (void)root.MakeDirectories("a/b/f/d", 0755);
  }
  EXPECT_EQ(CountDescriptors(), before);
}

TEST(Root, MayItselfBeReachedThroughLinks) {
  TempDir dir;
  mkdir((dir / "real").c_str(), 0755);
  symlink("real", (dir / "link").c_str());
  EXPECT_TRUE(MustRoot(dir / "link/").MakeDirectory("x", 0755));
  EXPECT_EQ(NamesIn(dir / "real"), std::vector<std::string>{"x"});
}

TEST(Root, MustBeADirectory) {
  TempDir dir;
  WriteFile(dir / "f", "");
  EXPECT_EQ(Root::Open(dir / "f").error().code, Code::kNotFound);
  EXPECT_EQ(Root::Open(dir / "x").error().code, Code::kNotFound);
  EXPECT_EQ(Root::Open("").error().code, Code::kNotFound);
  EXPECT_EQ(Root::Open(std::string("/\0x", 3)).error().code,
            Code::kInvalidArgument);
}

TEST(Root, RefusesMagicLinksEvenWhereItFollows) {
  if (!sys::HasOpenAt2()) GTEST_SKIP() << "only openat2 can tell them";
  const Root root = MustRoot("/proc/self", {Links::kFollow});
  EXPECT_EQ(root.OpenFile("exe").error().code, Code::kFailedPrecondition);
}

TEST(Root, AsksTheKernelOnceForEachOpen) {
  if (!sys::HasOpenAt2()) GTEST_SKIP() << "this is about openat2";
  TempDir dir;
  const Root root = MustRoot(dir.path());
  ASSERT_TRUE(root.MakeDirectories("a/b/c", 0755));
  FaultInjector watch(
      {.counts = [](const Call& c) { return c.name != "close"; }});
  ASSERT_TRUE(root.CreateFile("a/b/c/f", 0644));
  EXPECT_EQ(watch.calls(), 1);
  const Stat stat = root.StatPath("a/b/c/f").value();
  EXPECT_EQ(watch.calls(), 3);
  ASSERT_TRUE(root.OpenFile("a/b/c/f", stat));
  EXPECT_EQ(watch.calls(), 5);  // With fstat.
}

TEST(Root, TriesAgainWhenRenamesConfuseTheKernel) {
  TempDir dir;
  WriteFile(dir / "f", "");
  const Root root = MustRoot(dir.path(), {Links::kRefuse, Resolver::kOpenat2});
  const Stat stat = root.StatPath("f").value();
  for (const int error : {EAGAIN, EXDEV}) {
    FaultInjector faults({.nth = 1, .error = error});
    EXPECT_EQ(root.OpenFile("f", stat).has_value(), sys::HasOpenAt2());
  }
}

TEST(Root, TriesAgainForALimitedTime) {
  TempDir dir;
  WriteFile(dir / "f", "");
  const Root root = MustRoot(dir.path(), {Links::kRefuse, Resolver::kOpenat2});
  const Stat stat = root.StatPath("f").value();
  FaultInjector faults({.nth = 1, .error = EAGAIN, .for_good = true});
  EXPECT_FALSE(root.OpenFile("f", stat));
  EXPECT_EQ(faults.calls(), 128);
}

TEST(Root, LeavesWhatAnOrdinaryUserMayNotReadAlone) {
  TempDir dir;
  WriteFile(dir / "secret", "");
  chmod((dir / "secret").c_str(), 0);
  std::filesystem::create_directories(dir / "closed/below");
  chmod((dir / "closed").c_str(), 0);
  EXPECT_EQ(AsOrdinaryUser(
                dir,
                [&]() -> std::string {
                  const Root root = MustRoot(dir.path());
                  return root.OpenFile("secret").error().message + "; " +
                         root.OpenDirectory("closed/below").error().message;
                }),
            "open secret: permission denied; "
            "open closed/below: permission denied");
  chmod((dir / "closed").c_str(), 0700);  // So that it can be removed.
}

TEST_P(RootTest, OpensAFileWithoutWaitingIfItCan) {
  const Root root = OpenRoot();
  ASSERT_TRUE(root.OpenFile("a/b/f"));  // Now it is in the caches.
  const auto file = root.TryOpenFile("a/b/f");
  if (GetParam() == Resolver::kComponentWalk) {
    EXPECT_FALSE(file);
  } else {
    ASSERT_TRUE(file && *file);
    EXPECT_EQ(ContentOf(**file), "inner");
    EXPECT_EQ((*file)->stat().size, 5);
  }
}

TEST_P(RootTest, OpensNothingElseWithoutWaiting) {
  const Root root = OpenRoot();
  ASSERT_EQ(mkfifo((dir_ / "in/fifo").c_str(), 0644), 0);
  for (const char* const path :
       {"a/b", "a/l", "a/up/f", "a/out/f", "fifo", "", "../out/f", "a/b/f/x"}) {
    (void)root.StatPath(path);
    EXPECT_FALSE(root.TryOpenFile(path)) << path;
  }
}

TEST_P(RootTest, MayKnowWithoutWaitingThatThereIsNoFile) {
  const Root root = OpenRoot();
  EXPECT_FALSE(root.OpenFile("a/none"));
  const auto file = root.TryOpenFile("a/none");
  // tmpfs does not remember what it has not got.
  const bool knows = GetParam() == Resolver::kOpenat2 &&
                     !MustHold(dir_.path()).IsInMemory().value();
  ASSERT_EQ(file.has_value(), knows);
  EXPECT_TRUE(!file || file->error().code == Code::kNotFound);
}

}  // namespace
}  // namespace casemate::files
