#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "digest/hasher.h"
#include "google/bytestream/bytestream.pb.h"
#include "reapi/server/stream_for_test.h"

namespace casemate::reapi {
namespace {

using namespace testing;

class ByteStreamRead : public ::testing::TestWithParam<Kind> {
 protected:
  std::string Name(const std::string& text, bool zstd = false) {
    return ReadName(MustPut(*store_, text), zstd);
  }

  AnyStore store_{GetParam()};
  StreamServer server_{*store_};
};

INSTANTIATE_TEST_SUITE_P(Stores, ByteStreamRead,
                         ::testing::Values(Kind::kMemory, Kind::kDisk,
                                           Kind::kDiskZstd),
                         [](const auto& each) { return KindName(each.param); });

TEST_P(ByteStreamRead, R037_ABlobIsReadByItsName) {
  for (const size_t size : {1u, 4096u, 100000u, 3000000u}) {
    const std::string text = HalfText(size);
    const std::string name = Name(text);
    for (int i = 0; i < 2; ++i) {  // Verified on the way, then in place.
      const auto read = server_.Read(name);
      EXPECT_TRUE(read.status.ok()) << read.status.message;
      EXPECT_TRUE(read.data == text);
    }
  }
}

TEST_P(ByteStreamRead, R037_D12_MalformedNamesAreRefused) {
  const std::string hash = DigestOf("x").Hex();
  for (const std::string& name :
       {std::string(), "blobs/" + hash, "blobs/" + hash + "/x",
        "uploads/u/blobs/" + hash + "/1", std::string("nonsense")}) {
    EXPECT_EQ(server_.Read(name).status.code, Code::kInvalidArgument) << name;
  }
}

TEST_P(ByteStreamRead, R038_NothingMayFollowTheSize) {
  EXPECT_EQ(server_.Read(Name("hello") + "/file.txt").status.code,
            Code::kInvalidArgument);
}

TEST_P(ByteStreamRead, R039_AnAbsentBlobIsNotFound) {
  EXPECT_EQ(server_.Read(ReadName(DigestOf("absent"))).status.code,
            Code::kNotFound);
  EXPECT_EQ(server_.Read(ReadName(DigestOf("absent"), true)).status.code,
            Code::kNotFound);
}

TEST_P(ByteStreamRead, R003_AWrongSizeIsAnotherBlob) {
  const Digest hello = MustPut(*store_, "hello");
  const Digest wrong(hello.function(), hello.hash(), 6);
  EXPECT_EQ(server_.Read(ReadName(wrong)).status.code, Code::kNotFound);
}

TEST_P(ByteStreamRead, R018_SizeZeroWithAnotherHashIsNotTheEmptyBlob) {
  const Digest hello = MustPut(*store_, "hello");
  const Digest zero(hello.function(), hello.hash(), 0);
  EXPECT_EQ(server_.Read(ReadName(zero)).status.code, Code::kNotFound);
}

TEST_P(ByteStreamRead, R040_AnOffsetOutsideTheBlobIsOutOfRange) {
  const std::string name = Name("hello");
  EXPECT_EQ(server_.Read(name, -1).status.code, Code::kOutOfRange);
  EXPECT_EQ(server_.Read(name, 6).status.code, Code::kOutOfRange);
  EXPECT_EQ(server_.Read(name, INT64_MIN).status.code, Code::kOutOfRange);
  EXPECT_EQ(server_.Read(name, INT64_MAX).status.code, Code::kOutOfRange);
}

TEST_P(ByteStreamRead, R041_AnOffsetAtTheEndYieldsNothing) {
  const auto read = server_.Read(Name("hello"), 5);
  EXPECT_TRUE(read.status.ok());
  EXPECT_EQ(read.data, "");
}

TEST_P(ByteStreamRead, R042_DataBeginsAtTheOffset) {
  const std::string text = "hello, world";
  const std::string name = Name(text);
  for (size_t offset = 0; offset <= text.size(); ++offset) {
    EXPECT_EQ(server_.Read(name, static_cast<int64_t>(offset)).data,
              text.substr(offset));
  }
}

TEST_P(ByteStreamRead, R043_D13_ALimitEndsTheReadWithoutError) {
  const std::string text = "hello, world";
  const std::string name = Name(text);
  for (size_t offset = 0; offset <= text.size(); ++offset) {
    for (const size_t limit : {size_t{1}, text.size() - 1, text.size(),
                               text.size() + 1, size_t{INT64_MAX}}) {
      const auto read = server_.Read(name, static_cast<int64_t>(offset),
                                     static_cast<int64_t>(limit));
      EXPECT_TRUE(read.status.ok());
      EXPECT_EQ(read.data, text.substr(offset, limit));
    }
  }
}

TEST_P(ByteStreamRead, R043_ALimitCutsALargeBlob) {
  const std::string text = HalfText(3000000);
  const auto read = server_.Read(Name(text), 1000, 2000000);
  EXPECT_TRUE(read.status.ok());
  EXPECT_TRUE(read.data == text.substr(1000, 2000000));
}

TEST_P(ByteStreamRead, R044_ANegativeLimitIsRefused) {
  EXPECT_EQ(server_.Read(Name("hello"), 0, -1).status.code,
            Code::kInvalidArgument);
}

TEST_P(ByteStreamRead, R050_MessagesStayWellBelowWhatPeersTake) {
  const std::string text = RandomText(5000000);
  for (const bool zstd : {false, true}) {
    const auto read = server_.Read(Name(text, zstd));
    ASSERT_TRUE(read.status.ok());
    EXPECT_GE(read.messages.size(), 4u);
    EXPECT_LE(*std::ranges::max_element(read.messages), (1u << 20) + 16);
  }
}

TEST_P(ByteStreamRead, R052_AHeaderThatDiffersIsRefused) {
  const std::string key = "build.bazel.remote.execution.v2.resource-name";
  const std::string name = Name("hello");
  EXPECT_EQ(server_.Read(name, 0, 0, {{key, name}}).data, "hello");
  EXPECT_EQ(server_.Read(name, 0, 0, {{key, name + "1"}}).status.code,
            Code::kInvalidArgument);
}

TEST_P(ByteStreamRead, R230_MetadataThatIsGarbageDoesNotMatter) {
  const std::string key = "build.bazel.remote.execution.v2.requestmetadata-bin";
  EXPECT_EQ(server_.Read(Name("hello"), 0, 0, {{key, "\xFF\x07"}}).data,
            "hello");
}

TEST_P(ByteStreamRead, R232_UnknownFieldsDoNotMatter) {
  google::bytestream::ReadRequest request;
  request.set_resource_name(Name("hello"));
  const auto result = casemate::testing::CallUnary(
      server_.service(), "/google.bytestream.ByteStream/Read",
      request.SerializeAsString() + "\xC2\x3E\x03" + "abc", server_.pool());
  EXPECT_TRUE(result.status.ok());
}

TEST_P(ByteStreamRead, R233_OtherMethodsAreUnimplemented) {
  EXPECT_EQ(casemate::testing::CallUnary(server_.service(),
                                         "/google.bytestream.ByteStream/Reed",
                                         "", server_.pool())
                .status.code,
            Code::kUnimplemented);
}

TEST_P(ByteStreamRead, R030_InstancesAreFoundByTheirNames) {
  const std::string name = Name("hello");
  EXPECT_EQ(server_.Read("a/b/" + name).data, "hello");
  EXPECT_EQ(server_.Read("slow/" + name).data, "hello");
}

TEST_P(ByteStreamRead, R035_AnUnknownInstanceIsRefused) {
  EXPECT_EQ(server_.Read("nope/" + Name("hello")).status.code,
            Code::kInvalidArgument);
}

TEST_P(ByteStreamRead, R031_AnInstanceWithAReservedWordIsRefused) {
  EXPECT_EQ(server_.Read("x/actions/y/" + Name("hello")).status.code,
            Code::kInvalidArgument);
}

TEST_P(ByteStreamRead, D16_ALeadingSlashIsDropped) {
  EXPECT_EQ(server_.Read("/" + Name("hello")).data, "hello");
}

TEST_P(ByteStreamRead, R014_TheEmptyBlobIsReadWithoutUpload) {
  for (const DigestFunction function : kDigestFunctions) {
    const Digest& empty = digest::EmptyDigest(function);
    const auto read = server_.Read(ReadName(empty));
    EXPECT_TRUE(read.status.ok()) << read.status.message;
    EXPECT_EQ(read.data, "");
    EXPECT_EQ(server_.Read(ReadName(empty), 1).status.code, Code::kOutOfRange);
  }
}

TEST_P(ByteStreamRead, R020_TheEmptyBlobIsReadAsZstd) {
  const auto read = server_.Read(
      ReadName(digest::EmptyDigest(DigestFunction::kSha256), true));
  EXPECT_TRUE(read.status.ok());
  EXPECT_EQ(Unzstd(read.data), "");
}

TEST_P(ByteStreamRead, R053_UnknownCompressorsAreRefused) {
  const std::string name = Name("hello");
  for (const std::string compressor :
       {"gzip", "deflate", "brotli", "identity"}) {
    EXPECT_EQ(
        server_
            .Read("compressed-" + std::string(name).insert(6, compressor + "/"))
            .status.code,
        Code::kInvalidArgument);
  }
}

TEST_P(ByteStreamRead, R054_AZstdReadIsOfTheUncompressedDigest) {
  for (const size_t size : {1u, 5000u, 70000u, 3000000u}) {
    const std::string text = HalfText(size);
    const auto read = server_.Read(Name(text, true));
    EXPECT_TRUE(read.status.ok()) << read.status.message;
    EXPECT_TRUE(Unzstd(read.data) == text) << size;
    EXPECT_TRUE(size < 10000 || read.data.size() < size * 3 / 4);
  }
}

TEST_P(ByteStreamRead, R055_D06_AZstdReadBeginsAtAnOffsetOfTheBlobsOwnBytes) {
  const std::string text = HalfText(2500000);
  const std::string name = Name(text, true);
  for (const size_t offset :
       {size_t{0}, size_t{1}, text.size() / 2, text.size() - 1}) {
    const auto read = server_.Read(name, static_cast<int64_t>(offset));
    EXPECT_TRUE(read.status.ok());
    EXPECT_TRUE(Unzstd(read.data) == text.substr(offset)) << offset;
  }
}

TEST_P(ByteStreamRead, R055_EveryOffsetOfASmallBlobAsZstd) {
  const std::string text = "hello, hello, hello";
  const std::string name = Name(text, true);
  for (size_t offset = 0; offset <= text.size(); ++offset) {
    EXPECT_EQ(Unzstd(server_.Read(name, static_cast<int64_t>(offset)).data),
              text.substr(offset));
  }
}

TEST_P(ByteStreamRead, R056_AZstdReadAtTheEndYieldsNothing) {
  const std::string name = Name("hello", true);
  EXPECT_EQ(Unzstd(server_.Read(name, 5).data), "");
  EXPECT_EQ(server_.Read(name, 6).status.code, Code::kOutOfRange);
}

TEST_P(ByteStreamRead, R057_AZstdReadTakesNoLimit) {
  const std::string name = Name("hello", true);
  EXPECT_EQ(server_.Read(name, 0, 1).status.code, Code::kInvalidArgument);
}

TEST_P(ByteStreamRead, D30_ACompressedReadIsNeverAnsweredWithRawData) {
  const std::string text = RandomText(300000);  // Does not get smaller.
  const auto read = server_.Read(Name(text, true));
  EXPECT_TRUE(read.data.starts_with("\x28\xB5\x2F\xFD"));
  EXPECT_TRUE(Unzstd(read.data) == text);
}

TEST_P(ByteStreamRead, R058_EveryUploadFormCanBeReadInEveryForm) {
  for (const bool up : {false, true}) {
    const std::string text = HalfText(300000, up ? 1 : 2);
    const Digest digest = DigestOf(text);
    EXPECT_TRUE(server_.Write(WriteName(digest, up), up ? Zstd(text) : text)
                    .status.ok());
    EXPECT_TRUE(server_.Read(ReadName(digest)).data == text);
    EXPECT_TRUE(Unzstd(server_.Read(ReadName(digest, true)).data) == text);
  }
}

TEST_P(ByteStreamRead, R061_OneFrameIsSentForABlobThatIsEncodedHere) {
  if (GetParam() != Kind::kMemory) return;
  const std::string text = HalfText(1000000);
  const auto read = server_.Read(Name(text, true));
  size_t frames = 0;
  for (size_t at = read.data.find("\x28\xB5\x2F\xFD"); at != std::string::npos;
       at = read.data.find("\x28\xB5\x2F\xFD", at + 4)) {
    ++frames;
  }
  EXPECT_EQ(frames, 1u);
}

TEST_P(ByteStreamRead, ARequestThatIsNoMessageIsRefused) {
  EXPECT_EQ(casemate::testing::CallUnary(server_.service(),
                                         "/google.bytestream.ByteStream/Read",
                                         "\x0A\x7F", server_.pool())
                .status.code,
            Code::kInvalidArgument);
  MemoryCall call(server_.service(), "/google.bytestream.ByteStream/Read",
                  server_.pool());
  call.HalfClose();
  EXPECT_EQ(call.Wait().code, Code::kInvalidArgument);
}

TEST_P(ByteStreamRead, R235_ACancelledReadFreesAllAtEveryMessage) {
  const std::string text = HalfText(4000000);
  for (const bool zstd : {false, true}) {
    google::bytestream::ReadRequest request;
    request.set_resource_name(Name(text, zstd));
    for (int taken = 0; taken < 5; ++taken) {
      MemoryCall call(server_.service(), "/google.bytestream.ByteStream/Read",
                      server_.pool());
      call.Send(request.SerializeAsString());
      for (int i = 0; i < taken; ++i) call.Receive();
      call.Cancel();
      call.Wait();
    }
  }
  server_.ExpectNothingHeld();
}

TEST_P(ByteStreamRead, AReaderThatStopsHoldsOneMessageAndNoThread) {
  const std::string text = RandomText(6000000);
  google::bytestream::ReadRequest request;
  request.set_resource_name(Name(text));
  std::vector<std::unique_ptr<MemoryCall>> calls;
  for (int i = 0; i < 20; ++i) {  // More than the pool has threads.
    calls.push_back(std::make_unique<MemoryCall>(
        server_.service(), "/google.bytestream.ByteStream/Read",
        server_.pool()));
    calls.back()->Send(request.SerializeAsString());
    calls.back()->Receive();
  }
  EXPECT_TRUE(server_.Read(Name(text)).data == text);
  EXPECT_LE(server_.admission().peak(), int64_t{21} << 20);
}

// Whatever it is called: a blob kept as zstd has another name.
void TruncateTheOnlyFile(const std::string& folder) {
  namespace fs = std::filesystem;
  for (const auto& each : fs::recursive_directory_iterator(folder)) {
    if (!each.is_regular_file()) continue;
    fs::permissions(each.path(), fs::perms::owner_all);
    fs::resize_file(each.path(), each.file_size() / 3);
  }
}

TEST(ByteStreamDamage, R045_ATruncatedFileIsNeverAShortSuccess) {
  for (const Kind kind : {Kind::kDisk, Kind::kDiskZstd}) {
    AnyStore store(kind);
    StreamServer server(*store);
    const std::string text = HalfText(3000000);
    const Digest digest = MustPut(*store, text);
    EXPECT_TRUE(server.Read(ReadName(digest)).status.ok());
    TruncateTheOnlyFile(store.folder() + "/cas");
    for (const bool zstd : {false, true}) {
      const auto read = server.Read(ReadName(digest, zstd));
      EXPECT_FALSE(read.status.ok());
      EXPECT_NE(read.status.code, Code::kInvalidArgument);
    }
  }
}

TEST(ByteStreamDamage, R045_ChangedBytesAreNeverASuccess) {
  AnyStore store(Kind::kDisk);
  StreamServer server(*store);
  std::string text = HalfText(3000000);
  const Digest digest = MustPut(*store, text);
  std::filesystem::permissions(store.PathOf(digest),
                               std::filesystem::perms::owner_all);
  text[2999999] ^= 1;
  casemate::testing::WriteFile(store.PathOf(digest), text);
  EXPECT_FALSE(server.Read(ReadName(digest)).status.ok());
  EXPECT_FALSE(server.Read(ReadName(digest, true)).status.ok());
}

TEST(ByteStreamDamage, AFolderThatIsGoneIsAnErrorAndNoCrash) {
  AnyStore store(Kind::kDisk);
  StreamServer server(*store);
  const Digest digest = MustPut(*store, HalfText(300000));
  std::filesystem::remove_all(store.folder());
  EXPECT_FALSE(server.Read(ReadName(digest)).status.ok());
  const std::string other = HalfText(300000, 9);
  EXPECT_FALSE(
      server.Write(WriteName(DigestOf(other)), other, 100000).status.ok());
  EXPECT_FALSE(server.Write(WriteName(DigestOf("x")), "x").status.ok());
}

TEST(ByteStreamMemory, AReadIsRefusedIfNoMemoryBecomesFree) {
  AnyStore store(Kind::kMemory);
  StreamServer server(
      *store, {.memory = 1 << 20, .patience = std::chrono::milliseconds(10)});
  const Digest digest = MustPut(*store, RandomText(3000000));
  google::bytestream::ReadRequest request;
  request.set_resource_name(ReadName(digest));
  MemoryCall slow(server.service(), "/google.bytestream.ByteStream/Read",
                  server.pool());
  slow.Send(request.SerializeAsString());
  // Its second message holds all there is until it is taken.
  slow.Receive();
  while (server.admission().used() == 0) std::this_thread::yield();
  const auto read = server.Read(ReadName(digest));
  EXPECT_EQ(read.status.code, Code::kResourceExhausted);
  EXPECT_NE(read.status.message.find("memory"), std::string::npos);
  EXPECT_EQ(server.admission().peak(), 1 << 20);
}

TEST(ByteStreamMemory, AReadWaitsForMemoryAndThenGoesOn) {
  AnyStore store(Kind::kMemory);
  StreamServer server(*store, {.memory = 1 << 20});
  const std::string text = RandomText(3000000);
  const Digest digest = MustPut(*store, text);
  google::bytestream::ReadRequest request;
  request.set_resource_name(ReadName(digest));
  MemoryCall slow(server.service(), "/google.bytestream.ByteStream/Read",
                  server.pool());
  slow.Send(request.SerializeAsString());
  slow.Receive();
  while (server.admission().used() == 0) std::this_thread::yield();
  std::jthread frees([&] {
    while (server.admission().waiting() == 0) std::this_thread::yield();
    slow.Cancel();
  });
  EXPECT_TRUE(server.Read(ReadName(digest)).data == text);
}

}  // namespace
}  // namespace casemate::reapi
