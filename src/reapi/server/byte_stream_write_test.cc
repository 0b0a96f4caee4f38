#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "digest/hasher.h"
#include "files/sys.h"
#include "google/bytestream/bytestream.pb.h"
#include "reapi/server/stream_for_test.h"
#include "testing/failing_store.h"

namespace casemate::reapi {
namespace {

using namespace testing;

bool Has(BlobStore& store, const Digest& digest) {
  return casemate::testing::Has(store, digest);
}

// Sizes of each way a blob takes: in one message, gathered, as a stream.
constexpr size_t kSizes[] = {1, 4096, 60000, 100000, 300000};

class ByteStreamWrite : public ::testing::TestWithParam<Kind> {
 protected:
  void ExpectRefused(const StreamServer::WriteResult& result,
                     const Digest& digest, Code code = Code::kInvalidArgument) {
    EXPECT_EQ(result.status.code, code) << result.status.message;
    EXPECT_FALSE(result.status.message.empty());
    EXPECT_FALSE(result.committed.has_value());
    EXPECT_FALSE(Has(*store_, digest));
  }

  AnyStore store_{GetParam()};
  StreamServer server_{*store_};
};

INSTANTIATE_TEST_SUITE_P(Stores, ByteStreamWrite,
                         ::testing::Values(Kind::kMemory, Kind::kDisk,
                                           Kind::kDiskZstd),
                         [](const auto& each) { return KindName(each.param); });

TEST_P(ByteStreamWrite, R074_AFinishedUploadReportsItsSize) {
  for (const size_t size : {1u, 70000u, 4194303u}) {
    const std::string text = RandomText(size);
    const Digest digest = DigestOf(text);
    const auto written = server_.Write(WriteName(digest), text, 1 << 20);
    EXPECT_TRUE(written.status.ok()) << written.status.message;
    EXPECT_EQ(written.committed, size);
    EXPECT_TRUE(MustRead(*store_, digest) == text);
  }
}

TEST_P(ByteStreamWrite, R074_AnyChunkingGivesTheSameBlob) {
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    const bool zstd = i % 2 == 1;
    const std::string text =
        HalfText(1 + random() % 150000, static_cast<unsigned>(i + 1));
    const std::string wire = zstd ? Zstd(text) : text;
    const Digest digest = DigestOf(text);
    const auto written = server_.Write(WriteName(digest, zstd), wire,
                                       wire.size() / (1 + random() % 9) + 1);
    EXPECT_TRUE(written.status.ok()) << written.status.message;
    EXPECT_EQ(written.committed, wire.size());
    EXPECT_TRUE(MustRead(*store_, digest) == text);
  }
}

TEST_P(ByteStreamWrite, R015_TheEmptyBlobIsAccepted) {
  const Digest& empty = digest::EmptyDigest(DigestFunction::kSha256);
  const auto written = server_.Write(WriteName(empty), "");
  EXPECT_TRUE(written.status.ok());
  EXPECT_EQ(written.committed, 0);
  EXPECT_TRUE(server_.Write(WriteName(empty, true), "").status.ok());
  EXPECT_TRUE(server_.Write(WriteName(empty, true), Zstd("")).status.ok());
}

TEST_P(ByteStreamWrite, R018_SizeZeroWithAnotherHashIsRefused) {
  const Digest zero(DigestFunction::kSha256, DigestOf("x").hash(), 0);
  ExpectRefused(server_.Write(WriteName(zero), ""), zero);
}

TEST_P(ByteStreamWrite, R063_TheFirstMessageHasAnUploadsName) {
  const Digest digest = DigestOf("hello");
  for (const std::string& name :
       {std::string(), ReadName(digest), "blobs/" + WriteName(digest),
        WriteName(digest) + "x", WriteName(digest).substr(8)}) {
    ExpectRefused(server_.Write(name, "hello"), digest);
  }
}

TEST_P(ByteStreamWrite, R064_TheNameMayBeRepeatedButNotChanged) {
  const Digest digest = DigestOf("hello");
  Upload same(server_, WriteName(digest));
  same.Send("hel");
  same.SendAt(3, "lo", true, WriteName(digest));
  same.HalfClose();
  EXPECT_EQ(same.End().committed, 5);
  const std::string text = "hello, other";
  Upload other(server_, WriteName(DigestOf(text)));
  other.Send("hello");
  other.SendAt(5, ", other", true, WriteName(DigestOf(text), false, "v"));
  ExpectRefused(other.End(), DigestOf(text));
}

TEST_P(ByteStreamWrite, R065_AFreshUploadBeginsAtZero) {
  const Digest digest = DigestOf("hello, world");
  for (const int64_t offset : {5, 12, 13, -1}) {
    Upload upload(server_, WriteName(digest));
    upload.ContinueAt(offset);
    upload.Send("world");
    ExpectRefused(upload.End(), digest);
  }
}

TEST_P(ByteStreamWrite, R066_EveryOffsetFollowsTheOneBefore) {
  for (const size_t size : kSizes) {
    if (size < 4096) continue;
    const std::string text = HalfText(size);
    const Digest digest = DigestOf(text);
    for (const int64_t wrong :
         {int64_t{0}, int64_t{1999}, int64_t{2001}, int64_t{-1}, INT64_MAX}) {
      Upload upload(server_, WriteName(digest));
      upload.Send(text.substr(0, 1000));
      upload.Send(text.substr(1000, 1000));
      upload.SendAt(wrong, text.substr(2000), true);
      ExpectRefused(upload.End(), digest);
    }
  }
}

TEST_P(ByteStreamWrite, R068_NothingFollowsFinishWrite) {
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size);
    Upload upload(server_, WriteName(DigestOf(text)));
    upload.Send(text, true);
    upload.Send("");
    upload.HalfClose();
    EXPECT_EQ(upload.End().status.code, Code::kInvalidArgument);
  }
}

TEST_P(ByteStreamWrite, R068_AClientThatAwaitsTheAnswerBeforeItsEndGetsIt) {
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size);
    Upload upload(server_, WriteName(DigestOf(text)));
    upload.Send(text, true);
    EXPECT_EQ(upload.End().committed, size);
  }
}

TEST_P(ByteStreamWrite, R069_WithoutFinishWriteAnUploadIsNotComplete) {
  for (const bool zstd : {false, true}) {
    for (const size_t size : kSizes) {
      const std::string text = HalfText(size, zstd ? 3 : 4);
      const Digest digest = DigestOf(text);
      Upload upload(server_, WriteName(digest, zstd));
      upload.Send(zstd ? Zstd(text) : text);
      upload.HalfClose();
      const auto end = upload.End();
      EXPECT_TRUE(end.status.ok()) << end.status.message;
      EXPECT_EQ(end.committed, size);
      EXPECT_FALSE(Has(*store_, digest));
      const auto query = server_.Query(WriteName(digest, zstd));
      EXPECT_EQ(query.code, Code::kOk);
      EXPECT_EQ(query.committed, size);
      EXPECT_FALSE(query.complete);
    }
  }
}

TEST_P(ByteStreamWrite, D09_StreamsThatEndWithoutFinishWriteAreNotCommitted) {
  const std::string text = HalfText(300000);
  Upload upload(server_, WriteName(DigestOf(text)));
  upload.Send(text);
  upload.HalfClose();
  EXPECT_EQ(upload.End().committed, text.size());
  EXPECT_FALSE(Has(*store_, DigestOf(text)));
}

TEST_P(ByteStreamWrite, R070_TooFewBytesAreRefused) {
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size);
    const Digest digest = DigestOf(text);
    for (const size_t chunk : {SIZE_MAX, size / 3 + 1}) {
      ExpectRefused(
          server_.Write(WriteName(digest), text.substr(0, size - 1), chunk),
          digest);
    }
    EXPECT_EQ(server_.Query(WriteName(digest)).code, Code::kNotFound);
  }
}

TEST_P(ByteStreamWrite, R071_TooManyBytesAreRefusedAtOnce) {
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size);
    const Digest digest = DigestOf(text);
    ExpectRefused(server_.Write(WriteName(digest), text + "x"), digest);
    Upload upload(server_, WriteName(digest));
    upload.Send(text);
    upload.Send("x");  // Neither finish_write nor half-close.
    ExpectRefused(upload.End(), digest);
  }
}

TEST_P(ByteStreamWrite, R071_AnEndlessWriterIsStopped) {
  const Digest digest = DigestOf(HalfText(300000));
  Upload upload(server_, WriteName(digest));
  for (int i = 0; i < 100; ++i) upload.Send(std::string(100000, 'x'));
  ExpectRefused(upload.End(), digest);
  EXPECT_LE(server_.admission().peak(), 400000);
}

TEST_P(ByteStreamWrite, R072_R006_BytesOfAnotherDigestAreNotStored) {
  for (const size_t size : kSizes) {
    std::string text = HalfText(size);
    const Digest digest = DigestOf(text);
    text[size / 2] ^= 1;
    for (const size_t chunk : {SIZE_MAX, size / 3 + 1}) {
      ExpectRefused(server_.Write(WriteName(digest), text, chunk), digest);
      ExpectRefused(server_.Write(WriteName(digest, true), Zstd(text), chunk),
                    digest);
    }
    EXPECT_EQ(server_.Query(WriteName(digest)).code, Code::kNotFound);
    EXPECT_EQ(server_.Read(ReadName(digest)).status.code, Code::kNotFound);
  }
}

TEST_P(ByteStreamWrite, R002_AWrongSizeIsAMismatch) {
  const Digest hello = DigestOf("hello");
  const Digest wrong(hello.function(), hello.hash(), 6);
  ExpectRefused(server_.Write(WriteName(wrong), "hello!"), wrong);
  ExpectRefused(server_.Write(WriteName(wrong), "hello"), wrong);
}

TEST_P(ByteStreamWrite, R075_DataMayBeEmptyInAnyMessage) {
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size);
    Upload upload(server_, WriteName(DigestOf(text)));
    upload.Send("");
    upload.Send(text.substr(0, size / 2));
    upload.Send("");
    upload.Send(text.substr(size / 2));
    upload.Send("", true);
    upload.HalfClose();
    EXPECT_EQ(upload.End().committed, size);
    EXPECT_TRUE(MustRead(*store_, DigestOf(text)) == text);
  }
}

TEST_P(ByteStreamWrite, R076_D03_AStoredBlobEndsTheUploadAtOnce) {
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size);
    const Digest digest = MustPut(*store_, text);
    Upload upload(server_, WriteName(digest));
    upload.Send(text.substr(0, 1));  // No more, and no half-close.
    EXPECT_EQ(upload.End().committed, size);
  }
}

TEST_P(ByteStreamWrite, R094_D02_AStoredBlobEndsACompressedUploadWithMinusOne) {
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size);
    const Digest digest = MustPut(*store_, text);
    Upload upload(server_, WriteName(digest, true));
    upload.Send(Zstd(text).substr(0, 5));
    EXPECT_EQ(upload.End().committed, -1);
    EXPECT_EQ(server_.Write(WriteName(digest, true), Zstd(text)).committed, -1);
  }
}

TEST_P(ByteStreamWrite, D02_TheRestCanBeReadAndCountedInstead) {
  StreamServer draining(*store_,
                        {.settings = {.drain_compressed_duplicates = true}});
  const std::string text = HalfText(300000);
  const Digest digest = MustPut(*store_, text);
  const std::string wire = Zstd(text);
  for (const size_t chunk : {SIZE_MAX, size_t{10000}}) {
    EXPECT_EQ(draining.Write(WriteName(digest, true), wire, chunk).committed,
              wire.size());
  }
  Upload unfinished(draining, WriteName(digest, true));
  unfinished.Send(wire.substr(0, 100));
  unfinished.HalfClose();
  EXPECT_EQ(unfinished.End().committed, 100);
  const std::string small = "small";
  MustPut(*store_, small);
  EXPECT_EQ(
      draining.Write(WriteName(DigestOf(small), true), Zstd(small)).committed,
      Zstd(small).size());
}

TEST_P(ByteStreamWrite, R076_R082_AStalledWriterEndsWhenTheBlobHasCome) {
  for (const bool zstd : {false, true}) {
    for (const size_t size : kSizes) {
      const std::string text = HalfText(size, zstd ? 5 : 6);
      const Digest digest = DigestOf(text);
      Upload stalled(server_, WriteName(digest, zstd, "stalled"));
      stalled.Send(size == 1 ? "" : (zstd ? Zstd(text) : text).substr(0, 100));
      stalled.WaitUntilRead();
      EXPECT_TRUE(server_.Write(WriteName(digest), text, 50000).status.ok());
      const auto end = stalled.End();
      EXPECT_TRUE(end.status.ok());
      EXPECT_EQ(end.committed, zstd ? -1 : static_cast<int64_t>(size));
    }
  }
}

TEST_P(ByteStreamWrite, R076_WhoeverStoresABlobCanTellIt) {
  const std::string text = HalfText(300000);
  const Digest digest = DigestOf(text);
  Upload stalled(server_, WriteName(digest));
  stalled.Send(text.substr(0, 100000));
  stalled.WaitUntilRead();
  MustPut(*store_, text);  // As a batch does.
  server_.arrivals().Tell(*store_, digest);
  EXPECT_EQ(stalled.End().committed, text.size());
}

TEST_P(ByteStreamWrite, D04_AStoredBlobIsNeverAlreadyExists) {
  const Digest digest = MustPut(*store_, "hello");
  EXPECT_TRUE(server_.Write(WriteName(digest), "hello").status.ok());
}

TEST_P(ByteStreamWrite, D32_AnUploadUnderWayMakesNoOtherOneSuccessful) {
  const std::string text = HalfText(300000);
  const Digest digest = DigestOf(text);
  Upload dead(server_, WriteName(digest, false, "dead"));
  dead.Send(text.substr(0, 100000));
  dead.WaitUntilRead();
  Upload other(server_, WriteName(digest, false, "other"));
  other.Send(text.substr(0, 100000));
  other.WaitUntilRead();
  EXPECT_FALSE(other.call().ended());
  dead.Cancel();
  other.Send(text.substr(100000), true);
  other.HalfClose();
  EXPECT_EQ(other.End().committed, text.size());
  EXPECT_TRUE(MustRead(*store_, digest) == text);
}

TEST_P(ByteStreamWrite, R083_MetadataAfterTheSizeMeansNothing) {
  const Digest digest = DigestOf("hello");
  EXPECT_EQ(server_.Write(WriteName(digest) + "/a/blobs/c", "hello").committed,
            5);
}

TEST_P(ByteStreamWrite, R085_ABlobAboveTheLimitIsRefusedByItsName) {
  StreamServer limited(*store_, {.settings = {.max_cas_blob_size = 1000}});
  const std::string text = HalfText(1001);
  Upload upload(limited, WriteName(DigestOf(text)));
  upload.Send("");  // No data is needed for that.
  ExpectRefused(upload.End(), DigestOf(text));
  EXPECT_TRUE(limited.Write(WriteName(DigestOf(text.substr(1))), text.substr(1))
                  .status.ok());
}

TEST_P(ByteStreamWrite, R088_R111_ACancelledUploadIsNeverVisible) {
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size);
    const Digest digest = DigestOf(text);
    for (const bool zstd : {false, true}) {
      Upload upload(server_, WriteName(digest, zstd));
      upload.Send((zstd ? Zstd(text) : text).substr(0, size / 2));
      upload.WaitUntilRead();
      upload.Cancel();
      EXPECT_EQ(upload.End().status.code, Code::kCancelled);
      EXPECT_FALSE(Has(*store_, digest));
      EXPECT_EQ(server_.Read(ReadName(digest)).status.code, Code::kNotFound);
    }
  }
}

TEST_P(ByteStreamWrite, R089_AnUploadWithoutAnyMessageIsRefused) {
  Upload upload(server_, "");
  upload.HalfClose();
  EXPECT_EQ(upload.End().status.code, Code::kInvalidArgument);
}

TEST_P(ByteStreamWrite, R091_UnknownCompressorsAreRefused) {
  const Digest digest = DigestOf("hello");
  ExpectRefused(
      server_.Write("uploads/u/compressed-blobs/gzip/" + digest.ToString(),
                    "hello"),
      digest);
}

TEST_P(ByteStreamWrite, R092_SizeAndDigestAreCheckedAfterDecoding) {
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size, 7);
    const Digest digest = DigestOf(text);
    for (const size_t chunk : {SIZE_MAX, size_t{20000}}) {
      ExpectRefused(server_.Write(WriteName(digest, true),
                                  Zstd(text.substr(0, size - 1)), chunk),
                    digest);
      ExpectRefused(
          server_.Write(WriteName(digest, true), Zstd(text + "x"), chunk),
          digest);
    }
  }
}

TEST_P(ByteStreamWrite, R093_LaterOffsetsCountCompressedBytes) {
  for (const size_t size : {size_t{5000}, size_t{300000}}) {
    const std::string text = HalfText(size, 8);
    const Digest digest = DigestOf(text);
    const std::string wire = Zstd(text);
    Upload wrong(server_, WriteName(digest, true));
    wrong.Send(wire.substr(0, 1000));
    wrong.SendAt(2000, wire.substr(1000), true);  // Uncompressed ones.
    ExpectRefused(wrong.End(), digest);
    EXPECT_EQ(server_.Write(WriteName(digest, true), wire, 1000).committed,
              wire.size());
  }
}

TEST_P(ByteStreamWrite, R095_D01_CommittedSizeIsTheCompressedCountOrTheSize) {
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size, 9);
    const std::string name = WriteName(DigestOf(text), true);
    EXPECT_EQ(server_.Write(name, Zstd(text), 30000).committed,
              Zstd(text).size());
  }
  StreamServer by_size(*store_,
                       {.settings = {.committed_size = CommittedSize::kSize}});
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size, 10);
    const std::string name = WriteName(DigestOf(text), true);
    EXPECT_EQ(by_size.Write(name, Zstd(text), 30000).committed, size);
  }
}

TEST_P(ByteStreamWrite, R097_ABombIsStoppedAtTheDeclaredSize) {
  const std::string zeros = Zstd(std::string(64 << 20, '\0'));
  for (const size_t size : {size_t{10}, size_t{300000}}) {
    const Digest digest = DigestOf(std::string(size, '\0'));
    for (const size_t chunk : {SIZE_MAX, size_t{500}}) {
      ExpectRefused(server_.Write(WriteName(digest, true), zeros, chunk),
                    digest);
    }
  }
}

TEST_P(ByteStreamWrite, R097_FramesThatHoldNothingDoNotGoOnForEver) {
  const Digest digest = DigestOf("hello");
  const std::string skippable = std::string("\x50\x2A\x4D\x18\xF8\xFF\x03", 7) +
                                std::string(1 + 0x3FFF8, '\0');
  Upload upload(server_, WriteName(digest, true));
  for (int i = 0; i < 10; ++i) upload.Send(skippable);
  ExpectRefused(upload.End(), digest);
}

TEST_P(ByteStreamWrite, R098_DamagedFramesAreRefused) {
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size, 11);
    const Digest digest = DigestOf(text);
    const std::string wire = Zstd(text);
    std::string flipped = wire;
    flipped[wire.size() / 2] ^= 0x55;
    for (const std::string& bad :
         {wire.substr(0, wire.size() - 1), wire + "xx", flipped,
          "garbage" + wire, std::string("garbage")}) {
      for (const size_t chunk : {SIZE_MAX, size_t{20000}}) {
        ExpectRefused(server_.Write(WriteName(digest, true), bad, chunk),
                      digest);
      }
    }
  }
}

TEST_P(ByteStreamWrite, R099_R061_D05_ManyFramesAreOneUpload) {
  const std::string text = HalfText(300000, 12);
  for (const size_t size : {size_t{5000}, text.size()}) {
    const std::string part = text.substr(0, size);
    const Digest digest = DigestOf(part);
    Upload upload(server_, WriteName(digest, true));
    for (size_t at = 0; at < size; at += 1000) {
      upload.Send(Zstd(part.substr(at, 1000)));  // One frame a message.
      if (at == 2000) upload.Send(Zstd(""));
      if (at == 3000) {
        upload.Send(std::string("\x50\x2A\x4D\x18\x03\0\0\0abc", 11));
      }
    }
    upload.Send("", true);
    upload.HalfClose();
    EXPECT_TRUE(upload.End().status.ok());
    EXPECT_TRUE(MustRead(*store_, digest) == part);
  }
}

// As a client writes that streams and does not know the size beforehand.
std::string ZstdOfUnknownSize(const std::string& text) {
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(
      ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 0);
  frame.resize(ZSTD_compress2(context.get(), frame.data(), frame.size(),
                              text.data(), text.size()));
  return frame;
}

TEST_P(ByteStreamWrite, R062_AFrameNeedNotNameItsSize) {
  for (const size_t size : {size_t{3000}, size_t{300000}}) {
    const std::string text = HalfText(size, 21);
    const std::string frame = ZstdOfUnknownSize(text);
    EXPECT_EQ(ZSTD_getFrameContentSize(frame.data(), frame.size()),
              ZSTD_CONTENTSIZE_UNKNOWN);
    const Digest digest = DigestOf(text);
    EXPECT_TRUE(server_.Write(WriteName(digest, true), frame).status.ok());
    EXPECT_TRUE(MustRead(*store_, digest) == text);
  }
}

TEST_P(ByteStreamWrite, R099_FramesMayBeCutAnywhere) {
  const std::string text = HalfText(3000, 13);
  const std::string wire = Zstd(text.substr(0, 1000)) + Zstd(text.substr(1000));
  const Digest digest = DigestOf(text);
  for (const size_t chunk : {1u, 2u, 7u}) {
    AnyStore store(GetParam());
    StreamServer server(*store);
    EXPECT_EQ(server.Write(WriteName(digest, true), wire, chunk).committed,
              wire.size());
    EXPECT_TRUE(MustRead(*store, digest) == text);
  }
}

TEST_P(ByteStreamWrite, R028_AnotherFunctionIsAnotherBlob) {
  const Digest sha1 = DigestOf("hello", DigestFunction::kSha1);
  EXPECT_EQ(server_.Write(WriteName(sha1), "hello").committed, 5);
  EXPECT_TRUE(Has(*store_, sha1));
  EXPECT_FALSE(Has(*store_, DigestOf("hello")));
}

TEST_P(ByteStreamWrite, R030_R032_InstancesOfSeveralSegmentsAreServed) {
  const Digest digest = DigestOf("hello");
  EXPECT_TRUE(server_.Write("a/b/" + WriteName(digest), "hello").status.ok());
  EXPECT_EQ(server_.Read("a/b/" + ReadName(digest)).data, "hello");
  const std::string large = HalfText(200000);
  EXPECT_TRUE(server_.Write("slow/" + WriteName(DigestOf(large)), large, 50000)
                  .status.ok());
  const Digest small = DigestOf("small");
  EXPECT_TRUE(server_.Write("slow/" + WriteName(small), "small").status.ok());
}

TEST_P(ByteStreamWrite, R035_AnUnknownInstanceIsRefused) {
  const Digest digest = DigestOf("hello");
  ExpectRefused(server_.Write("nope/" + WriteName(digest), "hello"), digest);
  EXPECT_EQ(server_.Query("nope/" + WriteName(digest)).code,
            Code::kInvalidArgument);
}

TEST_P(ByteStreamWrite, R232_UnknownFieldsDoNotMatter) {
  google::bytestream::WriteRequest request;
  request.set_resource_name(WriteName(DigestOf("hello")));
  request.set_data("hello");
  request.set_finish_write(true);
  const auto result = casemate::testing::CallUnary(
      server_.service(), "/google.bytestream.ByteStream/Write",
      request.SerializeAsString() + "\xC2\x3E\x03" + "abc", server_.pool());
  EXPECT_TRUE(result.status.ok());
  EXPECT_TRUE(Has(*store_, DigestOf("hello")));
}

TEST_P(ByteStreamWrite, ADeclaredSizeOf2To62CostsNothing) {
  const Digest huge(DigestFunction::kSha256, DigestOf("x").hash(),
                    int64_t{1} << 62);
  Upload upload(server_, WriteName(huge));
  upload.Send(std::string(1000, 'x'));
  if (GetParam() != Kind::kMemory) upload.WaitUntilRead();
  EXPECT_LE(server_.admission().used(), 1000);
  upload.HalfClose();
  const auto end = upload.End();
  EXPECT_TRUE(end.committed == 1000 ||
              end.status.code == Code::kResourceExhausted);
  EXPECT_FALSE(server_.Write(WriteName(huge, true), Zstd("x")).status.ok());
}

TEST_P(ByteStreamWrite, MessagesThatAreNoneAreRefused) {
  MemoryCall call(server_.service(), "/google.bytestream.ByteStream/Write",
                  server_.pool());
  call.Send("\x0A\x7F");
  EXPECT_EQ(call.Wait().code, Code::kInvalidArgument);
}

TEST_P(ByteStreamWrite, R235_ACancelFreesAllAtEveryMessage) {
  const std::string text = HalfText(200000, 14);
  for (const bool zstd : {false, true}) {
    const std::string wire = zstd ? Zstd(text) : text;
    for (size_t sent = 0; sent <= 6; ++sent) {
      Upload upload(server_, WriteName(DigestOf(text), zstd));
      for (size_t i = 0; i < sent; ++i) {
        upload.Send(wire.substr(i * 20000, 20000));
      }
      upload.Cancel();
      upload.End();
    }
  }
  server_.ExpectNothingHeld();
}

TEST_P(ByteStreamWrite, MessagesCutIntoPiecesAreTheSame) {
  const std::string text = HalfText(2000, 15);
  google::bytestream::WriteRequest request;
  request.set_resource_name(WriteName(DigestOf(text)));
  request.set_data(text);
  request.set_finish_write(true);
  const std::string whole = request.SerializeAsString();
  MemoryCall call(server_.service(), "/google.bytestream.ByteStream/Write",
                  server_.pool());
  std::vector<std::string> pieces;
  for (size_t at = 0; at < whole.size(); at += 77) {
    pieces.push_back(whole.substr(at, 77));
  }
  call.SendPieces(pieces);
  call.HalfClose();
  EXPECT_TRUE(call.Wait().ok());
  EXPECT_TRUE(MustRead(*store_, DigestOf(text)) == text);
}

TEST(ByteStreamFull, R087_AFullStoreIsResourceExhausted) {
  const auto store = MakeMemoryStore(1000);
  StreamServer server(*store);
  for (const size_t size : kSizes) {
    if (size < 1000) continue;
    const std::string text = HalfText(size);
    for (const bool zstd : {false, true}) {
      EXPECT_EQ(server
                    .Write(WriteName(DigestOf(text), zstd),
                           zstd ? Zstd(text) : text, 30000)
                    .status.code,
                Code::kResourceExhausted);
    }
  }
}

TEST(ByteStreamFull, R087_AFullDiskIsResourceExhaustedAndLeavesNothing) {
  for (const size_t size : kSizes) {
    for (int64_t nth = 1; nth <= 3; ++nth) {
      AnyStore store(Kind::kDisk);
      const std::string text = HalfText(size);
      files::sys::FaultInjector faults(
          {.nth = nth,
           .error = ENOSPC,
           .for_good = true,
           .counts = [](const files::sys::Call& call) {
             return call.name == "pwrite" || call.name == "pwrite64";
           }});
      StreamServer server(*store);
      const auto written = server.Write(WriteName(DigestOf(text)), text, 30000);
      if (faults.fired()) {
        EXPECT_EQ(written.status.code, Code::kResourceExhausted)
            << written.status.message;
        EXPECT_FALSE(Has(*store, DigestOf(text)));
      } else {
        EXPECT_TRUE(written.status.ok());
      }
    }
  }
}

TEST(ByteStreamFull, AStoreThatFailsSaysSo) {
  casemate::testing::FailingStore store(Code::kUnavailable);
  StreamServer server(store);
  for (const size_t size : kSizes) {
    const std::string text = HalfText(size);
    EXPECT_EQ(server.Write(WriteName(DigestOf(text)), text).status.code,
              Code::kUnavailable);
    EXPECT_EQ(
        server.Write(WriteName(DigestOf(text)), text, size / 2 + 1).status.code,
        Code::kUnavailable);
  }
  EXPECT_EQ(server.Read(ReadName(DigestOf("x"))).status.code,
            Code::kUnavailable);
  EXPECT_EQ(server.Query(WriteName(DigestOf("x"))).code, Code::kUnavailable);
}

TEST(ByteStreamFull, AnUploadIsRefusedIfNoMemoryBecomesFree) {
  AnyStore store(Kind::kDisk);
  StreamServer server(
      *store, {.memory = 100000, .patience = std::chrono::milliseconds(10)});
  const auto held = server.admission().TryTake(100000);
  const std::string text = HalfText(300000);
  EXPECT_EQ(server.Write(WriteName(DigestOf(text)), text, 100000).status.code,
            Code::kResourceExhausted);
  EXPECT_EQ(server.Write(WriteName(DigestOf("x")), "x").status.code,
            Code::kResourceExhausted);
}

TEST(ByteStreamFull, ACompressedUploadIsCountedWithItsDecoder) {
  AnyStore store(Kind::kDisk);
  StreamServer server(*store);
  const std::string text = HalfText(2000000);
  Upload upload(server, WriteName(DigestOf(text), true));
  upload.Send(Zstd(text).substr(0, 1000));
  upload.WaitUntilRead();
  EXPECT_GT(server.admission().used(), 1 << 20);
  upload.Cancel();
  upload.End();
  server.ExpectNothingHeld();
}

TEST(ByteStreamFull, ManyUploadsPassThroughLittleMemory) {
  AnyStore store(Kind::kDisk);
  StreamServer server(*store, {.memory = 100000});
  std::vector<std::jthread> clients;
  for (unsigned i = 0; i < 16; ++i) {
    clients.emplace_back([&, i] {
      const std::string text = HalfText(400000, i + 1);
      const auto written =
          server.Write(WriteName(DigestOf(text)), text, 50000 + i);
      EXPECT_TRUE(written.status.ok()) << written.status.message;
      EXPECT_TRUE(server.Read(ReadName(DigestOf(text))).data == text);
    });
  }
  clients.clear();
  EXPECT_LE(server.admission().peak(), 100000);
}

}  // namespace
}  // namespace casemate::reapi
