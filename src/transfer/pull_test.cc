#include "casemate/pull.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "casemate/stores.h"
#include "digest/hasher.h"
#include "testing/counting_store.h"
#include "testing/temp_dir.h"
#include "tree/directory.h"

namespace casemate {
namespace {

namespace fs = std::filesystem;
using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

using Existing = PullOptions::Existing;

class PullTest : public ::testing::Test {
 protected:
  Blob Store(const std::string& content) {
    const Blob blob =
        Blob::Of(DigestFunction::kSha256, Bytes::FromString(content));
    EXPECT_TRUE(memory_->PutMany({}, std::span(&blob, 1)).at(0));
    return blob;
  }

  Digest StoreDirectory(const tree::Directory& directory) {
    return Store(tree::Encode(directory)).digest();
  }

  Result<PullResult> PullTo(const std::string& path, const Digest& root,
                            const PullOptions& options = {}) {
    return Pull({}, resources_, *memory_, root, path, options);
  }

  // Names in the scratch directory; a staging directory would be among them.
  std::vector<std::string> Left() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_.path())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  Resources resources_;
  const std::unique_ptr<BlobStore> memory_ = MakeMemoryStore();
  const TempDir dir_;
};

TEST_F(PullTest, WritesOneContentToAllItsPlacesAndFetchesItOnce) {
  tree::Directory directory;
  const Digest small = Store("small").digest();
  const Digest large = Store(std::string(3 << 20, 'x')).digest();
  for (int i = 0; i < 20; ++i) {
    directory.files.push_back({"large" + std::to_string(i), large, false, {}});
    directory.files.push_back({"small" + std::to_string(i), small, false, {}});
  }
  const PullResult result =
      PullTo(dir_ / "copy", StoreDirectory(directory)).value();
  EXPECT_EQ(result.files, 40);
  EXPECT_EQ(result.bytes_fetched, 5 + (3 << 20));
  EXPECT_EQ(ReadFile(dir_ / "copy/small19"), "small");
  EXPECT_EQ(ReadFile(dir_ / "copy/large19"), std::string(3 << 20, 'x'));
}

TEST_F(PullTest, LeavesNothingIfABlobIsMissing) {
  tree::Directory directory;
  directory.files.push_back({"here", Store("here").digest(), false, {}});
  directory.files.push_back(
      {"missing",
       digest::Hash(DigestFunction::kSha256, AsBytes("never stored")),
       false,
       {}});
  const auto pulled = PullTo(dir_ / "copy", StoreDirectory(directory));
  EXPECT_EQ(pulled.error().code, Code::kNotFound);
  EXPECT_NE(pulled.error().message.find("missing"), std::string::npos);
  EXPECT_TRUE(Left().empty());
}

TEST_F(PullTest, KeepsTheOldTreeIfTheNewOneCannotBeFinished) {
  tree::Directory directory;
  directory.files.push_back(
      {"missing",
       digest::Hash(DigestFunction::kSha256, AsBytes("never stored")),
       false,
       {}});
  fs::create_directory(dir_ / "copy");
  WriteFile(dir_ / "copy/old", "old");
  EXPECT_FALSE(PullTo(dir_ / "copy", StoreDirectory(directory),
                      {.existing = Existing::kReplace}));
  EXPECT_EQ(ReadFile(dir_ / "copy/old"), "old");
  EXPECT_EQ(Left().size(), 1u);
}

TEST_F(PullTest, RefusesBeforeItFetchesAnything) {
  WriteFile(dir_ / "file", "mine");
  testing::CountingStore counting(*memory_);
  const Digest root = StoreDirectory({});
  const auto pulled = Pull({}, resources_, counting, root, dir_ / "file");
  EXPECT_EQ(pulled.error().code, Code::kAlreadyExists);
  EXPECT_EQ(counting.get + counting.get_many, 0);
}

TEST_F(PullTest, MergesAroundWhatIsInTheWay) {
  tree::Directory below;
  below.files.push_back({"file", Store("new").digest(), false, {}});
  const Digest sub = StoreDirectory(below);
  tree::Directory directory;
  directory.directories = {{"blocked", sub}, {"open", sub}};
  fs::create_directories(dir_ / "copy/open");
  WriteFile(dir_ / "copy/blocked", "a file where a directory should be");
  WriteFile(dir_ / "copy/open/file", "old");

  const PullResult result = PullTo(dir_ / "copy", StoreDirectory(directory),
                                   {.existing = Existing::kMerge})
                                .value();
  ASSERT_EQ(result.failed.size(), 1u);  // Not one for each thing below it.
  EXPECT_EQ(result.failed[0].path, "blocked");
  EXPECT_EQ(ReadFile(dir_ / "copy/open/file"), "new");
}

TEST_F(PullTest, MergesThroughNoLink) {
  tree::Directory below;
  below.files.push_back({"file", Store("new").digest(), false, {}});
  tree::Directory directory;
  directory.directories = {{"link", StoreDirectory(below)}};
  fs::create_directories(dir_ / "copy");
  fs::create_directories(dir_ / "outside");
  fs::create_symlink("../outside", dir_ / "copy/link");

  const PullResult result = PullTo(dir_ / "copy", StoreDirectory(directory),
                                   {.existing = Existing::kMerge})
                                .value();
  EXPECT_EQ(result.failed.size(), 1u);
  EXPECT_TRUE(fs::is_empty(dir_ / "outside"));
}

TEST_F(PullTest, MakesADirectoryOfTheEmptyTree) {
  // An empty tree has an empty digest, which every store has.
  const Digest& empty = digest::EmptyDigest(DigestFunction::kSha256);
  EXPECT_EQ(PullTo(dir_ / "copy", empty)->directories, 1);
  EXPECT_TRUE(fs::is_directory(dir_ / "copy"));
}

TEST_F(PullTest, EndsWhenItIsCancelled) {
  std::stop_source source;
  source.request_stop();
  Context ctx;
  ctx.stop = source.get_token();
  tree::Directory directory;
  directory.files.push_back({"file", Store("x").digest(), false, {}});
  const auto pulled =
      Pull(ctx, resources_, *memory_, StoreDirectory(directory), dir_ / "copy");
  EXPECT_EQ(pulled.error().code, Code::kCancelled);
  EXPECT_TRUE(Left().empty());
}

TEST_F(PullTest, GoesOnWithLessMemoryThanTheTreeHas) {
  tree::Directory directory;
  for (int i = 10; i < 50; ++i) {
    const std::string content(900'000, static_cast<char>(i));
    directory.files.push_back(
        {std::to_string(i), Store(content).digest(), false, {}});
  }
  Resources small({.memory_bytes = ResourceOptions::kLeastMemory, .jobs = 2});
  const auto pulled =
      Pull({}, small, *memory_, StoreDirectory(directory), dir_ / "copy");
  EXPECT_EQ(pulled->files, 40);
}

}  // namespace
}  // namespace casemate
