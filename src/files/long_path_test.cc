// Trees deeper than the system takes a path to be long.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "casemate/bytes.h"
#include "files/for_test.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

using sys::FaultInjector;
using testing::TempDir;

struct Shape {
  Resolver resolver;
  int depth;
  size_t name_bytes;
};

std::string ChainOf(int depth, size_t name_bytes) {
  std::string path = "top" + std::to_string(name_bytes);
  for (int i = 0; i < depth; ++i) path += '/' + std::string(name_bytes, 'd');
  return path;
}

// Two chains of directories for all tests, because a disk takes its time: one
// as deep as a tree may be, whose upper part is the shallower ones, and one of
// long names.
struct Chains {
  Chains() {
    const Root root = MustRoot(dir.path());
    EXPECT_TRUE(root.MakeDirectories(ChainOf(8192, 1), 0755));
    EXPECT_TRUE(root.MakeDirectories(ChainOf(300, 200), 0755));
  }
  // Not left to TempDir, which would need a descriptor for each level.
  ~Chains() {
    const Directory held = MustHold(dir.path());
    EXPECT_TRUE(held.RemoveTree({}, ChainOf(0, 1)));
    EXPECT_TRUE(held.RemoveTree({}, ChainOf(0, 200)));
    EXPECT_EQ(NamesIn(dir.path()), std::vector<std::string>());
  }
  TempDir dir;
};

class LongPath : public ::testing::TestWithParam<Shape> {
 protected:
  static void SetUpTestSuite() { chains_ = std::make_unique<Chains>(); }
  static void TearDownTestSuite() { chains_.reset(); }

  LongPath() : path_(ChainOf(GetParam().depth, GetParam().name_bytes)) {}

  void SetUp() override {
    if (GetParam().resolver == Resolver::kOpenat2 && !sys::HasOpenAt2()) {
      GTEST_SKIP() << "this kernel has no openat2, or forbids it";
    }
    // What an earlier test made at this place.
    const Directory held = root_.OpenDirectory(path_).value();
    const auto entries = held.List({}).value();
    for (const Entry& entry : entries) {
      if (entry.name[0] == 'd') continue;
      ASSERT_TRUE(held.RemoveTree({}, entry.name));
    }
  }

  static inline std::unique_ptr<Chains> chains_;
  const TempDir& dir_ = chains_->dir;
  const Root root_ =
      MustRoot(dir_.path(), {Links::kRefuse, GetParam().resolver});
  const std::string path_;
};

INSTANTIATE_TEST_SUITE_P(
    Shapes, LongPath,
    ::testing::Values(Shape{Resolver::kOpenat2, 5000, 1},
                      Shape{Resolver::kOpenat2, 8192, 1},
                      Shape{Resolver::kOpenat2, 300, 200},
                      Shape{Resolver::kComponentWalk, 5000, 1},
                      Shape{Resolver::kComponentWalk, 8192, 1},
                      Shape{Resolver::kComponentWalk, 300, 200}),
    [](const auto& param) {
      const Shape& shape = param.param;
      return (shape.resolver == Resolver::kOpenat2 ? "Openat2_"
                                                   : "ComponentWalk_") +
             std::to_string(shape.depth) + "_of_" +
             std::to_string(shape.name_bytes);
    });

TEST_P(LongPath, AllowsAllThatAShortOneDoes) {
  const std::string file = path_ + "/f";
  auto created = root_.CreateFile(file, 0644);
  ASSERT_TRUE(created) << created.error().message;
  ASSERT_TRUE(created->Write(AsBytes("deep")));
  EXPECT_EQ(ContentOf(root_.OpenFile(file).value()), "deep");
  ASSERT_TRUE(root_.MakeDirectory(path_ + "/made", 0755));
  ASSERT_TRUE(root_.MakeSymlink(path_ + "/l", "f"));
  EXPECT_EQ(root_.StatPath(path_ + "/l")->kind, Kind::kSymlink);
  EXPECT_TRUE(root_.OpenDirectory(path_)->StatEntry("made"));
  EXPECT_EQ(root_.OpenFile(path_ + "/x").error().code, Code::kNotFound);
  EXPECT_EQ(root_.CreateFile(file, 0644).error().code, Code::kAlreadyExists);
}

TEST_P(LongPath, RefusesALinkHighAbove) {
  const auto [top, rest] = std::pair(path_.substr(0, path_.find('/')),
                                     path_.substr(path_.find('/')));
  symlink(top.c_str(), (dir_ / "link").c_str());
  EXPECT_EQ(root_.OpenDirectory("link" + rest).error().code,
            Code::kFailedPrecondition);
  unlink((dir_ / "link").c_str());
}

TEST_P(LongPath, CostsLittleMoreWhenItsBeginningIsKnown) {
  ASSERT_TRUE(root_.CreateFile(path_ + "/f", 0644));
  FaultInjector watch({});
  ASSERT_TRUE(root_.OpenFile(path_ + "/f"));
  EXPECT_LT(watch.calls(), 1200);
}

TEST_P(LongPath, IsFoundAgainAfterItsBeginningWasMadeAnew) {
  const std::string branch = path_ + "/branch/" + std::string(250, 'x') + '/' +
                             std::string(250, 'y') + '/' +
                             std::string(250, 'z');
  ASSERT_TRUE(root_.MakeDirectories(branch, 0755));
  ASSERT_TRUE(root_.CreateFile(branch + "/f", 0644));
  ASSERT_TRUE(root_.OpenDirectory(path_)->RemoveTree({}, "branch"));
  EXPECT_EQ(root_.StatPath(branch + "/f").error().code, Code::kNotFound);
  ASSERT_TRUE(root_.MakeDirectories(branch, 0755));
  EXPECT_TRUE(root_.CreateFile(branch + "/f", 0644));
}

TEST_P(LongPath, IsOpenToManyThreads) {
  ASSERT_TRUE(root_.CreateFile(path_ + "/f", 0644));
  std::atomic<int> opened = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < 10; ++round) {
          opened += root_.OpenFile(path_ + "/f").has_value();
          opened += root_.StatPath(path_ + (i % 2 ? "/x" : "/f/x")) ? -100 : 0;
        }
      });
    }
  }
  EXPECT_EQ(opened, 40);
}

TEST_P(LongPath, KeepsFewDescriptorsWhileAWalkerClimbsUp) {
  const size_t before = CountDescriptors();
  for (size_t end = path_.size(); end > 9000;
       end = path_.rfind('/', end - 800)) {
    ASSERT_TRUE(root_.StatPath(path_.substr(0, end)));
  }
  EXPECT_LE(CountDescriptors(), before + 16);
}

}  // namespace
}  // namespace casemate::files
