#include "tree/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "digest/hasher.h"

namespace casemate::tree {
namespace {

namespace proto = build::bazel::remote::execution::v2;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kSha256 = DigestFunction::kSha256;

Digest DigestOf(std::string_view text) {
  return digest::Hash(kSha256, AsBytes(text));
}

FileNode File(std::string name, std::string_view content = "x",
              bool executable = false, Properties properties = {}) {
  return {std::move(name), DigestOf(content), executable, properties};
}

// A message as a peer may send it: nothing here checks or sorts.
class Message {
 public:
  Message& File(std::string name) {
    auto* node = message_.add_files();
    node->set_name(std::move(name));
    Fill(node->mutable_digest());
    return *this;
  }
  Message& Directory(std::string name) {
    auto* node = message_.add_directories();
    node->set_name(std::move(name));
    Fill(node->mutable_digest());
    return *this;
  }
  Message& Symlink(std::string name, std::string target = "t") {
    auto* node = message_.add_symlinks();
    node->set_name(std::move(name));
    node->set_target(std::move(target));
    return *this;
  }
  proto::Directory* operator->() { return &message_; }

  std::string Bytes() const { return message_.SerializeAsString(); }
  Result<tree::Directory> Decode() const {
    return tree::Decode(Bytes(), kSha256);
  }

 private:
  static void Fill(proto::Digest* to) {
    to->set_hash(DigestOf("x").Hex());
    to->set_size_bytes(1);
  }

  proto::Directory message_;
};

void ExpectInvalid(const Result<Directory>& directory, std::string_view why) {
  ASSERT_FALSE(directory) << why;
  EXPECT_EQ(directory.error().code, Code::kInvalidArgument);
  EXPECT_THAT(directory.error().message, HasSubstr(std::string(why)));
}

// The digests below were computed by a second implementation: thirty lines of
// Python that write tags, varints and lengths by hand and know no protobuf.
TEST(Directory, HasTheDigestThatAnIndependentEncoderComputes) {
  const std::string sub =
      Encode({.files = {File("run.sh", "#!/bin/sh\n", true)},
              .directories = {},
              .symlinks = {},
              .properties = {}});
  EXPECT_EQ(DigestOf(sub).ToString(),
            "24197ae1f804f7892bbc008a4f5ddd2119838b6d9c4c501198100270267c5ac6/"
            "82");
  Directory root;
  root.files = {File("ab", std::string(300, 'x')),
                File("a.b", "hello\n"),
                File("\U0001F600", "2"),
                File("a-b", "hello\n"),
                File("\uFF21", "1"),
                File("a", "")};
  root.directories = {{"sub", DigestOf(sub)}, {"empty", DigestOf("")}};
  root.symlinks = {{"link", "../foo/../bar", {}}};
  EXPECT_EQ(DigestOf(Encode(root)).ToString(),
            "93ec042ca48e4e25b4501cce958a961a0a6d53b6d6c1b883fd9f3c988f7e5a2f/"
            "636");
}

TEST(Directory, HasThatDigestWithPropertiesToo) {
  Directory directory;
  directory.files = {File("f", "hello\n", false,
                          {.mtime = 1700000000123456789, .mode = 0644})};
  directory.symlinks = {{"l", "f", {.mtime = -1, .mode = {}}}};
  directory.properties = {.mtime = 1700000000000000000, .mode = 0};
  EXPECT_EQ(DigestOf(Encode(directory)).ToString(),
            "319631d335118836e7badaa29bc7d9e20dce2ff28fd65a625a630c26530191d6/"
            "136");
}

TEST(Directory, ThatIsEmptyIsTheEmptyBlob) {
  EXPECT_EQ(Encode({}), "");
  EXPECT_TRUE(Decode("", kSha256)->files.empty());
}

TEST(Directory, R007IsEncodedAsTheGeneratedCodeDoes) {
  Message message;
  message.File("a").File("b").Directory("c").Symlink("d");
  message->mutable_node_properties()->mutable_unix_mode()->set_value(0755);
  EXPECT_EQ(Encode(message.Decode().value()), message.Bytes());
}

TEST(Directory, R008TakesFieldsInAnyOrder) {
  Message first, second;
  first.Symlink("a");
  second.File("b");
  const auto directory = Decode(first.Bytes() + second.Bytes(), kSha256);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->files[0].name, "b");
  EXPECT_EQ(directory->symlinks[0].name, "a");
}

TEST(Directory, R147RefusesNamesThatAreNotOneSegment) {
  for (const std::string name : {"", ".", "..", "a/b", "/", "/a", "a/"}) {
    ExpectInvalid(Message().File(name).Decode(), "file");
    ExpectInvalid(Message().Directory(name).Decode(), "directory");
    ExpectInvalid(Message().Symlink(name).Decode(), "symbolic link");
  }
  ExpectInvalid(Message().File(std::string("a\0b", 3)).Decode(), "file");
  ExpectInvalid(Message().File(std::string(256, 'a')).Decode(), "file");
}

TEST(Directory, R148RefusesANameThatStandsTwice) {
  const std::string why = "\"a\"";
  ExpectInvalid(Message().File("a").File("a").Decode(), "twice");
  ExpectInvalid(Message().Directory("a").Directory("a").Decode(), "twice");
  ExpectInvalid(Message().Symlink("a").Symlink("a").Decode(), "twice");
  ExpectInvalid(Message().File("a").File("b").Directory("a").Decode(), why);
  ExpectInvalid(Message().File("Z").File("a").Symlink("a").Decode(), why);
  ExpectInvalid(Message().Directory("a").Symlink("Z").Symlink("a").Decode(),
                why);
}

TEST(Directory, R149SortsByTheBytesOfTheName) {
  Directory directory;
  for (const char* name :
       {"ab", "\U0001F600", "a", "\uFF21", "a.b", "a-b", "B"}) {
    directory.files.push_back(File(name));
    directory.symlinks.push_back({std::string("l") + name, "t", {}});
    directory.directories.push_back({std::string("d") + name, DigestOf("")});
  }
  const Directory read = Decode(Encode(directory), kSha256).value();
  std::vector<std::string> names;
  for (const FileNode& file : read.files) names.push_back(file.name);
  EXPECT_THAT(
      names, ElementsAre("B", "a", "a-b", "a.b", "ab", "\uFF21", "\U0001F600"));
  EXPECT_EQ(read.symlinks.back().name, "l\U0001F600");
  EXPECT_EQ(read.directories.front().name, "dB");
}

TEST(Directory, R149RefusesListsThatAreNotSorted) {
  ExpectInvalid(Message().File("b").File("a").Decode(), "sorted");
  ExpectInvalid(Message().Directory("a.b").Directory("a-b").Decode(), "sorted");
  ExpectInvalid(Message().Symlink("\U0001F600").Symlink("\uFF21").Decode(),
                "sorted");
}

TEST(Directory, R150LeavesNodePropertiesByNameAside) {
  Message message;
  message.File("a");
  auto* property =
      message->mutable_files(0)->mutable_node_properties()->add_properties();
  property->set_name("z");
  EXPECT_TRUE(message.Decode()->files[0].properties.empty());
}

TEST(Directory, R151TellsCasesApart) {
  EXPECT_EQ(Message().File("Foo").File("foo").Decode()->files.size(), 2u);
}

TEST(Directory, R154RefusesWhatIsNotUtf8WithoutPrintingOfIt) {
  ::testing::internal::CaptureStderr();
  std::string bytes = Message().File("aQ").Bytes();
  bytes[bytes.find('Q')] = '\xff';
  ExpectInvalid(Decode(bytes, kSha256), "UTF-8");
  bytes = Message().Symlink("a", "Q").Bytes();
  bytes[bytes.find('Q')] = '\xff';
  ExpectInvalid(Decode(bytes, kSha256), "UTF-8");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Directory, R155KeepsTargetsAsTheyAre) {
  for (const std::string target :
       {"foo/../bar", "/abs//x", "..", ".", "a/", "\n"}) {
    EXPECT_EQ(Message().Symlink("l", target).Decode()->symlinks[0].target,
              target);
  }
  ExpectInvalid(Message().Symlink("l", "").Decode(), "target is empty");
  ExpectInvalid(Message().Symlink("l", std::string("a\0", 2)).Decode(), "NUL");
}

TEST(Directory, CarriesOddNames) {
  Directory directory;
  for (const char* name : {"\n", " ", "\"", "'", "-rf", "a ", "\\", "\x7f"}) {
    directory.files.push_back(File(name));
  }
  std::ranges::sort(directory.files, {}, &FileNode::name);
  const Directory read = Decode(Encode(directory), kSha256).value();
  EXPECT_TRUE(std::ranges::equal(read.files, directory.files, {},
                                 &FileNode::name, &FileNode::name));
}

TEST(Directory, R001RefusesMalformedDigests) {
  const std::string hash = DigestOf("x").Hex();
  std::string upper = hash;
  std::ranges::transform(upper, upper.begin(), ::toupper);
  for (const std::string& bad :
       {upper, hash.substr(1), hash + "0", "g" + hash.substr(1), std::string(),
        hash.substr(0, 40)}) {
    Message message;
    message.File("a").Directory("d");
    message->mutable_files(0)->mutable_digest()->set_hash(bad);
    ExpectInvalid(message.Decode(), "file \"a\"");
    message->clear_files();
    message->mutable_directories(0)->mutable_digest()->set_hash(bad);
    ExpectInvalid(message.Decode(), "directory \"d\"");
  }
}

TEST(Directory, R004RefusesANegativeSize) {
  Message message;
  message.File("a");
  message->mutable_files(0)->mutable_digest()->set_size_bytes(-1);
  ExpectInvalid(message.Decode(), "negative");
}

TEST(Directory, R005RefusesANodeWithoutDigest) {
  Message message;
  message.File("a");
  message->mutable_files(0)->clear_digest();
  ExpectInvalid(message.Decode(), "file \"a\"");
}

TEST(Directory, R009RefusesDigestsOfAnotherFunction) {
  const auto directory =
      Decode(Message().File("a").Bytes(), DigestFunction::kSha512);
  ExpectInvalid(directory, "sha512");
}

TEST(Directory, ReadsWhatItRecordsOfTimesAndModes) {
  Directory directory;
  directory.files = {File("a", "x", true, {.mtime = -1, .mode = 0})};
  directory.symlinks = {{"l", "t", {.mtime = INT64_MAX, .mode = {}}}};
  directory.properties = {.mtime = INT64_MIN, .mode = 0755};
  const Directory read = Decode(Encode(directory), kSha256).value();
  EXPECT_EQ(read.files[0].properties, directory.files[0].properties);
  EXPECT_EQ(read.symlinks[0].properties, directory.symlinks[0].properties);
  EXPECT_EQ(read.properties, directory.properties);
  EXPECT_TRUE(read.files[0].executable);
}

TEST(Directory, NeverReadsSetuid) {
  Message message;
  message->mutable_node_properties()->mutable_unix_mode()->set_value(0106755);
  EXPECT_EQ(message.Decode()->properties.mode, 0755u);
}

TEST(Directory, RefusesTimesOutOfRange) {
  for (const auto& [seconds, nanos] : {std::pair<int64_t, int32_t>{0, -1},
                                       {0, 1'000'000'000},
                                       {INT64_MAX, 0},
                                       {9'223'372'037, 0},
                                       {-9'223'372'038, 0}}) {
    Message message;
    auto* mtime = message->mutable_node_properties()->mutable_mtime();
    mtime->set_seconds(seconds);
    mtime->set_nanos(nanos);
    ExpectInvalid(message.Decode(), "out of range");
  }
}

TEST(Directory, IgnoresFieldsItDoesNotKnow) {
  std::string bytes = Message().File("a").Bytes();
  bytes += std::string("\x22\x01z", 3) + "\x50\x05";  // Fields 4 and 10.
  EXPECT_EQ(Decode(bytes, kSha256)->files.size(), 1u);
}

TEST(Directory, RefusesEveryCut) {
  const std::string whole =
      Message().File("a").Directory("b").Symlink("c").Bytes();
  const std::string head = Message().File("a").Bytes();
  const std::string middle = Message().File("a").Directory("b").Bytes();
  for (size_t size = 1; size < whole.size(); ++size) {
    if (size == head.size() || size == middle.size()) continue;
    ExpectInvalid(Decode(whole.substr(0, size), kSha256), "");
  }
}

TEST(Directory, RefusesGarbage) {
  for (const std::string_view bytes :
       {"\x0a", "\x0a\xff\xff\xff\xff\xff", "\x0b", "\x0c", "\x07", "\xff\xff",
        "\x0a\x01\x0a", "hello, world"}) {
    ExpectInvalid(Decode(bytes, kSha256), "not a valid Directory");
  }
  ExpectInvalid(Decode(std::string(2, '\0'), kSha256), "garbled");
}

TEST(Directory, NeverUnfoldsAMessageOfMillionsOfEmptyEntries) {
  std::string bytes(64 << 20, '\0');
  for (size_t i = 0; i < bytes.size(); i += 2) bytes[i] = '\x0a';
  ExpectInvalid(Decode(bytes, kSha256), "file \"\"");
}

TEST(Directory, HoldsAHundredThousandEntries) {
  Directory directory;
  for (int i = 0; i < 100'000; ++i) {
    directory.files.push_back(File("file-" + std::to_string(i)));
  }
  const Directory read = Decode(Encode(directory), kSha256).value();
  EXPECT_EQ(read.files.size(), 100'000u);
  EXPECT_TRUE(std::ranges::is_sorted(read.files, {}, &FileNode::name));
}

}  // namespace
}  // namespace casemate::tree
