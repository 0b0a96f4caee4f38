#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "digest/hasher.h"
#include "reapi/server/stream_for_test.h"

namespace casemate::reapi {
namespace {

using namespace testing;

size_t CountFiles(const std::string& folder) {
  size_t count = 0;
  for (const auto& each :
       std::filesystem::recursive_directory_iterator(folder)) {
    count += each.is_regular_file() ? 1 : 0;
  }
  return count;
}

class ByteStreamResume : public ::testing::TestWithParam<Kind> {
 protected:
  // Sends the beginning of `text` and breaks off; what is then known of it.
  StreamServer::QueryResult Break(const std::string& text, size_t at,
                                  bool zstd = false) {
    const std::string name = WriteName(DigestOf(text), zstd);
    Upload upload(server_, name);
    const std::string part = text.substr(0, at);
    upload.Send(zstd ? Zstd(part) : part);
    upload.HalfClose();
    EXPECT_TRUE(upload.End().status.ok());
    return server_.Query(name);
  }

  AnyStore store_{GetParam()};
  StreamServer server_{*store_};
};

INSTANTIATE_TEST_SUITE_P(Stores, ByteStreamResume,
                         ::testing::Values(Kind::kMemory, Kind::kDisk,
                                           Kind::kDiskZstd),
                         [](const auto& each) { return KindName(each.param); });

TEST_P(ByteStreamResume, R101_D07_AnUnknownUploadIsNotFound) {
  EXPECT_EQ(server_.Query(WriteName(DigestOf("x"))).code, Code::kNotFound);
}

TEST_P(ByteStreamResume, R102_AnUploadUnderWayIsKnownAndNeverDecreases) {
  const std::string text = HalfText(500000);
  const std::string name = WriteName(DigestOf(text));
  Upload upload(server_, name);
  int64_t before = 0;
  for (size_t at = 0; at < text.size(); at += 100000) {
    upload.Send(text.substr(at, 100000));
    upload.WaitUntilRead();
    const auto query = server_.Query(name);
    EXPECT_EQ(query.code, Code::kOk);
    EXPECT_GE(query.committed, before);
    EXPECT_EQ(query.committed, at + 100000);
    EXPECT_FALSE(query.complete);
    before = query.committed;
  }
}

TEST_P(ByteStreamResume, R102_ASmallUploadUnderWayIsKnownToo) {
  const std::string text = HalfText(5000);
  const std::string name = WriteName(DigestOf(text));
  Upload upload(server_, name);
  upload.Send(text.substr(0, 1000));
  upload.WaitUntilRead();
  EXPECT_EQ(server_.Query(name).code, Code::kOk);
  EXPECT_FALSE(server_.Query(name).complete);
}

TEST_P(ByteStreamResume, R103_CompleteOnlyAfterTheFinishingMessage) {
  const std::string text = HalfText(300000);
  const std::string name = WriteName(DigestOf(text));
  Upload upload(server_, name);
  upload.Send(text);
  upload.WaitUntilRead();
  EXPECT_FALSE(server_.Query(name).complete);
  upload.Send("", true);
  upload.HalfClose();
  EXPECT_TRUE(upload.End().status.ok());
  EXPECT_TRUE(server_.Query(name).complete);
}

TEST_P(ByteStreamResume, R104_D08_AStoredBlobIsCompleteUnderAnyName) {
  const Digest hello = MustPut(*store_, "hello");
  for (const bool zstd : {false, true}) {
    const auto query = server_.Query(WriteName(hello, zstd, "fresh"));
    EXPECT_EQ(query.code, Code::kOk);
    EXPECT_EQ(query.committed, 5);
    EXPECT_TRUE(query.complete);
  }
  EXPECT_TRUE(
      server_.Query(WriteName(digest::EmptyDigest(DigestFunction::kSha256)))
          .complete);
}

TEST_P(ByteStreamResume, R107_AMalformedNameIsRefused) {
  for (const std::string& name :
       {ReadName(DigestOf("x")), std::string(), std::string("uploads/u")}) {
    EXPECT_EQ(server_.Query(name).code, Code::kInvalidArgument);
  }
}

TEST_P(ByteStreamResume, R065_AnUploadGoesOnWhereItWasBroken) {
  const std::string text = HalfText(300000);
  const Digest digest = DigestOf(text);
  EXPECT_EQ(Break(text, 123456).committed, 123456);
  const auto written =
      server_.Write(WriteName(digest), text.substr(123456), 50000, 123456);
  EXPECT_TRUE(written.status.ok()) << written.status.message;
  EXPECT_EQ(written.committed, text.size());
  EXPECT_TRUE(MustRead(*store_, digest) == text);
}

TEST_P(ByteStreamResume, R065_ASmallStreamCutAtEveryByteGoesOn) {
  for (const bool zstd : {false, true}) {
    for (size_t at = 1; at <= 40; ++at) {
      const std::string text =
          HalfText(40, static_cast<unsigned>(at) * 2 + (zstd ? 1u : 0u));
      const Digest digest = DigestOf(text);
      const auto query = Break(text, at, zstd);
      EXPECT_EQ(query.committed, at);
      EXPECT_FALSE(query.complete);
      const std::string rest = text.substr(at);
      const auto written =
          server_.Write(WriteName(digest, zstd), zstd ? Zstd(rest) : rest, 7,
                        query.committed);
      EXPECT_TRUE(written.status.ok()) << at << written.status.message;
      EXPECT_TRUE(MustRead(*store_, digest) == text);
    }
  }
}

TEST_P(ByteStreamResume, R093_ACompressedResumeBeginsANewFrame) {
  const std::string text = HalfText(400000);
  const Digest digest = DigestOf(text);
  EXPECT_EQ(Break(text, 150000, true).committed, 150000);
  const std::string rest = Zstd(text.substr(150000));
  const auto written =
      server_.Write(WriteName(digest, true), rest, 10000, 150000);
  EXPECT_TRUE(written.status.ok()) << written.status.message;
  // D-01: the first offset and the compressed bytes of this call.
  EXPECT_EQ(written.committed, 150000 + static_cast<int64_t>(rest.size()));
  EXPECT_TRUE(MustRead(*store_, digest) == text);
}

TEST_P(ByteStreamResume, R093_AFrameThatWasCutGoesOnFromWhatWasDecoded) {
  const std::string text = HalfText(1000000);
  const Digest digest = DigestOf(text);
  const std::string name = WriteName(digest, true);
  const std::string wire = Zstd(text);
  Upload upload(server_, name);
  upload.Send(wire.substr(0, wire.size() / 2));
  upload.WaitUntilRead();
  upload.Cancel();
  upload.End();
  const auto query = server_.Query(name);
  ASSERT_EQ(query.code, Code::kOk);
  EXPECT_GT(query.committed, 0);
  EXPECT_LT(query.committed, text.size());
  const auto rest = Zstd(text.substr(static_cast<size_t>(query.committed)));
  EXPECT_TRUE(server_.Write(name, rest, 100000, query.committed).status.ok());
  EXPECT_TRUE(MustRead(*store_, digest) == text);
}

TEST_P(ByteStreamResume, R065_AnotherOffsetIsRefusedAndTheUploadKept) {
  const std::string text = HalfText(300000);
  const std::string name = WriteName(DigestOf(text));
  Break(text, 200000);
  for (const int64_t offset : {1, 199999, 200001, 300000}) {
    EXPECT_EQ(server_
                  .Write(name, text.substr(static_cast<size_t>(offset)),
                         SIZE_MAX, offset)
                  .status.code,
              Code::kInvalidArgument);
  }
  EXPECT_EQ(server_.Query(name).committed, 200000);
}

TEST_P(ByteStreamResume, D10_OffsetZeroBeginsAgain) {
  const std::string text = HalfText(300000);
  const std::string name = WriteName(DigestOf(text));
  for (const size_t at : {size_t{200000}, size_t{300000}}) {
    Break(text, at);
    Upload again(server_, name);
    again.Send(text.substr(0, 1000));
    again.HalfClose();
    EXPECT_EQ(again.End().committed, 1000);
    EXPECT_EQ(server_.Query(name).committed, 1000);
  }
  EXPECT_FALSE(casemate::testing::Has(*store_, DigestOf(text)));
  EXPECT_TRUE(server_.Write(name, text, 100000).status.ok());
}

TEST_P(ByteStreamResume, D11_StateBelongsToUuidDigestAndForm) {
  const std::string text = HalfText(300000);
  Break(text, 200000);
  const Digest digest = DigestOf(text);
  EXPECT_EQ(server_.Query(WriteName(digest, false, "other")).code,
            Code::kNotFound);
  EXPECT_EQ(server_.Query(WriteName(digest, true)).code, Code::kNotFound);
  EXPECT_EQ(server_.Query("a/b/" + WriteName(digest)).code, Code::kNotFound);
  EXPECT_EQ(server_.Query(WriteName(DigestOf("x"))).code, Code::kNotFound);
}

TEST_P(ByteStreamResume, R080_OneUuidServesManyUploadsAtOnce) {
  std::vector<std::unique_ptr<Upload>> uploads;
  std::vector<std::string> texts;
  for (unsigned i = 0; i < 100; ++i) {
    texts.push_back(HalfText(i % 2 == 0 ? 70000 : 2000, i + 1));
    uploads.push_back(
        std::make_unique<Upload>(server_, WriteName(DigestOf(texts.back()))));
    uploads.back()->Send(texts.back().substr(0, 1000));
  }
  for (size_t i = 0; i < 100; ++i) {
    uploads[i]->Send(texts[i].substr(1000), true);
    uploads[i]->HalfClose();
  }
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(uploads[i]->End().committed, texts[i].size());
    EXPECT_TRUE(MustRead(*store_, DigestOf(texts[i])) == texts[i]);
  }
}

TEST_P(ByteStreamResume, R081_OneNameTwiceAtOnceIsTwoUploads) {
  for (const size_t size : {size_t{2000}, size_t{300000}}) {
    const std::string text = HalfText(size);
    const std::string name = WriteName(DigestOf(text));
    Upload first(server_, name);
    Upload second(server_, name);
    first.Send(text.substr(0, size / 2));
    first.WaitUntilRead();
    second.Send(text.substr(0, size / 2));
    second.WaitUntilRead();
    second.Cancel();
    second.End();
    EXPECT_FALSE(first.call().ended());
    Upload third(server_, name);
    third.Send(text.substr(0, size / 2));
    third.WaitUntilRead();
    first.Send(text.substr(size / 2), true);
    first.HalfClose();
    EXPECT_EQ(first.End().committed, size);
    EXPECT_EQ(third.End().committed, size);  // As soon as the blob is there.
  }
}

TEST_P(ByteStreamResume, R081_WhoGoesOnTakesOverFromACallThatHangs) {
  const std::string text = HalfText(300000);
  const std::string name = WriteName(DigestOf(text));
  Upload hangs(server_, name);
  hangs.Send(text.substr(0, 100000));
  hangs.WaitUntilRead();
  const int64_t committed = server_.Query(name).committed;
  EXPECT_EQ(committed, 100000);
  const auto written =
      server_.Write(name, text.substr(100000), 50000, committed);
  EXPECT_TRUE(written.status.ok()) << written.status.message;
  EXPECT_EQ(hangs.End().status.code, Code::kAborted);
  EXPECT_TRUE(MustRead(*store_, DigestOf(text)) == text);
}

TEST_P(ByteStreamResume, R081_AWrongOffsetDoesNotDisturbTheHealthyCall) {
  const std::string text = HalfText(300000);
  const std::string name = WriteName(DigestOf(text));
  Upload healthy(server_, name);
  healthy.Send(text.substr(0, 100000));
  healthy.WaitUntilRead();
  EXPECT_EQ(server_.Write(name, text.substr(200000), 50000, 200000).status.code,
            Code::kInvalidArgument);
  healthy.Send(text.substr(100000), true);
  healthy.HalfClose();
  EXPECT_EQ(healthy.End().committed, text.size());
}

TEST_P(ByteStreamResume, R082_SixteenWritersOfOneDigestInAnyForm) {
  for (unsigned round = 0; round < 6; ++round) {
    const std::string text =
        HalfText(round % 2 == 0 ? 3000 : 200000, round + 50);
    const Digest digest = DigestOf(text);
    std::vector<std::jthread> writers;
    for (unsigned i = 0; i < 16; ++i) {
      writers.emplace_back([&, i] {
        const bool zstd = i % 2 == 1;
        const std::string wire = zstd ? Zstd(text) : text;
        const std::string uuid = i < 8 ? "same" : std::to_string(i);
        if (i % 5 == 4) {
          Upload cancelled(server_, WriteName(digest, zstd, uuid));
          cancelled.Send(wire.substr(0, wire.size() / 2));
          cancelled.Cancel();
          cancelled.End();
          return;
        }
        const auto written = server_.Write(WriteName(digest, zstd, uuid), wire,
                                           wire.size() / (1 + i % 4) + 1);
        EXPECT_TRUE(written.status.ok()) << written.status.message;
        EXPECT_TRUE(written.committed == static_cast<int64_t>(wire.size()) ||
                    (zstd && written.committed == -1));
      });
    }
    writers.clear();
    EXPECT_TRUE(MustRead(*store_, digest) == text);
  }
}

TEST_P(ByteStreamResume, R105_RandomCutsAndResumesEndWell) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 20; ++round) {
    const bool zstd = round % 2 == 1;
    const std::string text = HalfText(1 + random() % 200000, round + 100);
    const std::string name = WriteName(DigestOf(text), zstd);
    size_t at = 0;
    for (int tries = 0; at < text.size() && tries < 6; ++tries) {
      const std::string part =
          text.substr(at, 1 + random() % (text.size() - at));
      Upload upload(server_, name);
      upload.ContinueAt(static_cast<int64_t>(at));
      upload.Send(zstd ? Zstd(part) : part);
      if (random() % 2 == 0) {
        upload.HalfClose();
      } else {
        upload.WaitUntilRead();
        upload.Cancel();
      }
      upload.End();
      const auto query = server_.Query(name);
      at = query.code == Code::kOk ? static_cast<size_t>(query.committed) : 0;
    }
    const std::string rest = text.substr(at);
    EXPECT_TRUE(server_
                    .Write(name, zstd ? Zstd(rest) : rest, 30000,
                           static_cast<int64_t>(at))
                    .status.ok());
    EXPECT_TRUE(MustRead(*store_, DigestOf(text)) == text);
  }
}

TEST_P(ByteStreamResume, R090_AbandonedUploadsAreBoundedInNumber) {
  for (unsigned i = 0; i < 2000; ++i) {
    const std::string text = "abandoned " + std::to_string(i);
    Upload upload(server_, WriteName(DigestOf(text)));
    upload.Send(text.substr(0, 8));
    upload.HalfClose();
    upload.End();
  }
  EXPECT_LE(server_.service().uploads().left(), 1024u);
  if (GetParam() != Kind::kMemory) {
    EXPECT_LE(CountFiles(store_.folder() + "/tmp"), 130u);
  }
}

TEST_P(ByteStreamResume, WhatFailedIsNotKept) {
  const std::string text = HalfText(300000);
  const std::string name = WriteName(DigestOf(text));
  Upload upload(server_, name);
  upload.Send(text.substr(0, 100000));
  upload.SendAt(5, "wrong offset");
  EXPECT_EQ(upload.End().status.code, Code::kInvalidArgument);
  EXPECT_EQ(server_.Query(name).code, Code::kNotFound);
  if (GetParam() != Kind::kMemory) {
    EXPECT_EQ(CountFiles(store_.folder() + "/tmp"), 0u);
  }
}

TEST_P(ByteStreamResume, R088_NothingIsLeftVisibleByARestart) {
  if (GetParam() == Kind::kMemory) return;
  const std::string text = HalfText(300000);
  Break(text, 150000);
  EXPECT_EQ(CountFiles(store_.folder() + "/cas"), 0u);
}

}  // namespace
}  // namespace casemate::reapi
