#include "tree/scan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "store/streams.h"
#include "testing/store_helpers.h"

namespace casemate::tree {
namespace {

namespace proto = build::bazel::remote::execution::v2;
using testing::DigestOf;

void Fill(proto::Digest& to, const Digest& digest) {
  to.set_hash(digest.Hex());
  to.set_size_bytes(digest.size());
}

proto::Directory DirectoryOf(const std::string& file,
                             const std::string& child = "") {
  proto::Directory directory;
  auto& node = *directory.add_files();
  node.set_name(file);
  Fill(*node.mutable_digest(), DigestOf(file));
  if (!child.empty()) {
    auto& below = *directory.add_directories();
    below.set_name(child);
    Fill(*below.mutable_digest(), DigestOf(child));
  }
  return directory;
}

using Scanner = Result<void> (*)(const Context&, Reader&, DigestFunction,
                                 const OnNode&);

Result<std::vector<Digest>> Scanned(Scanner scan, const std::string& bytes) {
  const auto reader = store::MakeBytesReader(Bytes::FromString(bytes), 0);
  std::vector<Digest> digests;
  const auto result = scan({}, *reader, DigestFunction::kSha256,
                           [&](NodeKind, const Digest& digest) {
                             digests.push_back(digest);
                             return Result<void>();
                           });
  if (!result) return result.error();
  return digests;
}

TEST(ScanDirectory, R008_TakesFieldsInAnyOrder) {
  const proto::Directory directory = DirectoryOf("b", "a");
  proto::Directory files, directories;
  *files.mutable_files() = directory.files();
  *directories.mutable_directories() = directory.directories();
  const auto digests = Scanned(ScanDirectory, directories.SerializeAsString() +
                                                  files.SerializeAsString());
  EXPECT_EQ(digests.value(), (std::vector{DigestOf("a"), DigestOf("b")}));
}

TEST(ScanTree, D25_TakesChildrenInAnyOrderAndTwice) {
  proto::Tree tree;
  *tree.add_children() = DirectoryOf("c");
  *tree.add_children() = DirectoryOf("c");
  proto::Tree root;
  *root.mutable_root() = DirectoryOf("r", "d");
  const auto digests =
      Scanned(ScanTree, tree.SerializeAsString() + root.SerializeAsString());
  EXPECT_EQ(digests.value(), (std::vector{DigestOf("c"), DigestOf("c"),
                                          DigestOf("r"), DigestOf("d")}));
}

TEST(ScanDirectory, R152_RefusesDangerousNames) {
  for (const std::string& name : std::vector<std::string>{
           "", ".", "..", "a/b", "/", "../x", "\xff", {"a\0b", 3}}) {
    const std::string bytes = DirectoryOf(name).SerializeAsString();
    EXPECT_EQ(Scanned(ScanDirectory, bytes).error().code,
              Code::kInvalidArgument)
        << name;
  }
}

TEST(ScanDirectory, R152_TakesUnsortedAndRepeatedNames) {
  proto::Directory directory = DirectoryOf("b");
  *directory.add_files() = DirectoryOf("a").files(0);
  *directory.add_files() = DirectoryOf("a").files(0);
  EXPECT_EQ(Scanned(ScanDirectory, directory.SerializeAsString())->size(), 3u);
}

TEST(ScanDirectory, RefusesDigestsThatAreMalformedOrOfAnotherFunction) {
  proto::Directory directory = DirectoryOf("a");
  auto& digest = *directory.mutable_files(0)->mutable_digest();
  const std::string good = digest.hash();
  for (const std::string& hash :
       std::vector<std::string>{"", good.substr(1), std::string(64, 'G'),
                                std::string(40, 'a'), std::string(5000, 'a')}) {
    digest.set_hash(hash);
    EXPECT_FALSE(Scanned(ScanDirectory, directory.SerializeAsString()));
  }
  digest.set_hash(good);
  digest.set_size_bytes(-1);
  EXPECT_FALSE(Scanned(ScanDirectory, directory.SerializeAsString()));
}

TEST(ScanDirectory, R232_PassesOverWhatItDoesNotKnow) {
  const std::string unknown = "\xc2\x3e\x03xyz";  // Field 1000.
  EXPECT_EQ(Scanned(ScanDirectory,
                    unknown + DirectoryOf("a").SerializeAsString() + unknown)
                ->size(),
            1u);
}

TEST(ScanDirectory, R019_TakesNoBytesForADirectoryWithoutEntries) {
  EXPECT_TRUE(Scanned(ScanDirectory, "")->empty());
}

TEST(ScanTree, RefusesWhatIsNone) {
  EXPECT_FALSE(Scanned(ScanTree, "#!/bin/sh\necho hello\n"));
  EXPECT_FALSE(Scanned(ScanTree, testing::RandomText(10'000)));
}

}  // namespace
}  // namespace casemate::tree
