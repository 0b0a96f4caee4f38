#include "tree/lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "casemate/stores.h"
#include "digest/hasher.h"
#include "testing/counting_store.h"
#include "testing/store_helpers.h"

namespace casemate::tree {
namespace {

using ::testing::HasSubstr;

// The tree: a/b/{f, l -> f}, z (empty).
class LookupTest : public ::testing::Test {
 protected:
  LookupTest() {
    Directory b;
    b.files = {{"f", testing::DigestOf("hello"), true, {}}};
    b.symlinks = {{"l", "f", {}}};
    b_ = testing::MustPut(store_, Encode(b));
    Directory a;
    a.directories = {{"b", b_}};
    a_ = testing::MustPut(store_, Encode(a));
    Directory root;
    root.directories = {{"a", a_},
                        {"z", digest::EmptyDigest(DigestFunction::kSha256)}};
    root_ = testing::MustPut(store_, Encode(root));
  }

  Result<Node> Find(std::string_view path) {
    return Lookup({}, store_, root_, path);
  }

  void ExpectNotFound(std::string_view path, const std::string& what) {
    const auto node = Find(path);
    ASSERT_FALSE(node);
    EXPECT_EQ(node.error().code, Code::kNotFound);
    EXPECT_THAT(node.error().message, HasSubstr(what));
  }

  std::unique_ptr<BlobStore> memory_ = MakeMemoryStore();
  testing::CountingStore store_{*memory_};
  Digest root_, a_, b_;
};

TEST_F(LookupTest, FindsTheRootWithoutFetchingIt) {
  for (const char* path : {"", ".", "/", "./"}) {
    EXPECT_EQ(std::get<DirectoryNode>(Find(path).value()).digest, root_);
  }
  EXPECT_EQ(store_.got, 0);
}

TEST_F(LookupTest, FindsEntriesOfEveryKind) {
  EXPECT_EQ(std::get<DirectoryNode>(Find("a/b").value()).digest, b_);
  EXPECT_TRUE(std::get<FileNode>(Find("a/b/f").value()).executable);
  EXPECT_EQ(std::get<SymlinkNode>(Find("a/b/l").value()).target, "f");
  EXPECT_EQ(std::get<DirectoryNode>(Find("./a//b/").value()).digest, b_);
}

TEST_F(LookupTest, FetchesOnlyTheDirectoriesOnTheWay) {
  ASSERT_TRUE(Find("a/b"));
  EXPECT_EQ(store_.got, 2);
}

TEST_F(LookupTest, NamesThePartThatDoesNotExist) {
  ExpectNotFound("a/x/y", "\"a/x\"");
  ExpectNotFound("..", "\"..\"");
  ExpectNotFound("z/x", "\"z/x\"");
}

TEST_F(LookupTest, DoesNotGoThroughFilesOrLinks) {
  ExpectNotFound("a/b/f/x", "\"a/b/f\" is a file");
  ExpectNotFound("a/b/l/x", "\"a/b/l\" is a symbolic link");
}

TEST_F(LookupTest, PassesOnThatADirectoryIsMissing) {
  Directory root;
  root.directories = {{"gone", testing::DigestOf("never put")}};
  root_ = testing::MustPut(store_, Encode(root));
  ExpectNotFound("gone/x", testing::DigestOf("never put").ToString());
}

TEST_F(LookupTest, RefusesABlobThatIsNoDirectory) {
  const Digest text = testing::MustPut(store_, "hello, world");
  const auto directory = FetchDirectory({}, store_, text);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, Code::kInvalidArgument);
}

TEST_F(LookupTest, RefusesALargeBlobUnfetched) {
  const Digest huge(DigestFunction::kSha256, root_.hash(),
                    kMaxDirectoryBytes + 1);
  EXPECT_EQ(FetchDirectory({}, store_, huge).error().code,
            Code::kResourceExhausted);
  EXPECT_EQ(store_.got, 0);
}

}  // namespace
}  // namespace casemate::tree
