#include "testing/store_conformance.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "codec/zstd.h"
#include "digest/hasher.h"
#include "testing/store_helpers.h"

namespace casemate::testing {

// Whoever links the helpers beside it need not have a store of his own.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreConformance);

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Code CodeOf(const auto& result) {
  return result ? Code::kOk : result.error().code;
}

// Fails in the middle, as when a file changed while it was read.
class BrokenSource : public Source {
 public:
  int64_t size() const override { return 1000; }
  Result<std::unique_ptr<Reader>> Open(const Context&, int64_t) const override {
    return std::make_unique<BrokenReader>();
  }

 private:
  class BrokenReader : public Reader {
   public:
    Result<size_t> Read(const Context&, std::span<std::byte>) override {
      if (std::exchange(read_, true)) {
        return Error{Code::kFailedPrecondition, "changed while it was read"};
      }
      return size_t{1};
    }

   private:
    bool read_ = false;
  };
};

// Half of it compresses well.
std::string HalfRandom(size_t size) {
  return RandomText(size / 2) + std::string(size - size / 2, 'a');
}

TEST_P(StoreConformance, ReturnsWhatWasPut) {
  const std::string text = RandomText(1'000'003);
  const Digest digest = MustPut(store_, text);
  EXPECT_EQ(MustRead(store_, digest), text);
  EXPECT_EQ(ReadFrom(store_, digest, 0, 1000).value(), text);
}

TEST_P(StoreConformance, ReturnsBlobsWithLongRunsOfZeros) {
  const std::string zeros(256 << 10, '\0');
  for (const std::string& text :
       {zeros, "a" + zeros, zeros + "b", "a" + zeros + "b" + zeros}) {
    EXPECT_EQ(MustRead(store_, MustPut(store_, text)), text);
  }
}

TEST_P(StoreConformance, FindsWhatIsMissingOnceAndInTheOrderGiven) {
  const Digest here = MustPut(store_, "here");
  const Digest a = DigestOf("a"), b = DigestOf("b"), c = DigestOf("c");
  const std::vector<Digest> asked = {c, here, a, c, b, here, a};
  EXPECT_THAT(store_.FindMissing({}, asked).value(), ElementsAre(c, a, b));
  EXPECT_THAT(store_.FindMissing({}, {}).value(), IsEmpty());
}

TEST_P(StoreConformance, AlwaysHasTheEmptyBlob) {
  for (const DigestFunction function : kDigestFunctions) {
    const Digest& empty = digest::EmptyDigest(function);
    EXPECT_TRUE(Has(store_, empty));
    EXPECT_EQ(MustRead(store_, empty), "");
    EXPECT_EQ(store_.GetMany({}, std::span(&empty, 1))[0]->digest(), empty);
    EXPECT_TRUE(store_.Put({}, empty, TextSource("")));
  }
}

TEST_P(StoreConformance, HoldsBlobsOfEveryDigestFunction) {
  for (const DigestFunction function : kDigestFunctions) {
    const Digest digest = DigestOf("hello", function);
    EXPECT_FALSE(Has(store_, digest));
    EXPECT_TRUE(store_.Put({}, digest, TextSource("hello")));
    EXPECT_TRUE(Has(store_, digest));
    EXPECT_EQ(MustRead(store_, digest), "hello");
  }
}

TEST_P(StoreConformance, ReadsFromAnyOffset) {
  const std::string text = RandomText(100'000);
  const Digest digest = MustPut(store_, text);
  for (const int64_t offset : {1, 4096, 77'777, 99'999, 100'000}) {
    EXPECT_EQ(ReadFrom(store_, digest, offset).value(),
              text.substr(static_cast<size_t>(offset)));
  }
}

TEST_P(StoreConformance, RefusesOffsetsOutsideTheBlob) {
  const Digest digest = MustPut(store_, "hello");
  EXPECT_EQ(CodeOf(store_.Get({}, digest, -1)), Code::kOutOfRange);
  EXPECT_EQ(CodeOf(store_.Get({}, digest, 6)), Code::kOutOfRange);
}

TEST_P(StoreConformance, SaysNotFoundOfAnAbsentBlob) {
  const Digest absent = DigestOf("absent");
  EXPECT_EQ(CodeOf(store_.Get({}, absent, 0)), Code::kNotFound);
  EXPECT_EQ(CodeOf(store_.GetEncoded({}, absent, 0, {})), Code::kNotFound);
  EXPECT_EQ(CodeOf(store_.GetMany({}, std::span(&absent, 1))[0]),
            Code::kNotFound);
}

TEST_P(StoreConformance, TellsDigestsOfOneHashApartByTheirSize) {
  const Digest right = MustPut(store_, "hello");
  for (const int64_t size : {0, 4, 6, 1'000'000'000}) {
    const Digest wrong(right.function(), right.hash(), size);
    EXPECT_FALSE(Has(store_, wrong));
    EXPECT_EQ(CodeOf(store_.Get({}, wrong, 0)), Code::kNotFound);
    EXPECT_EQ(CodeOf(store_.GetMany({}, std::span(&wrong, 1))[0]),
              Code::kNotFound);
  }
  EXPECT_EQ(MustRead(store_, right), "hello");
}

TEST_P(StoreConformance, NeverShowsBytesUnderAWrongDigest) {
  const Digest digest = DigestOf("hello");
  for (const char* const text : {"hellO", "hell", "hello, world", ""}) {
    EXPECT_EQ(CodeOf(store_.Put({}, digest, TextSource(text))),
              Code::kDataLoss);
    EXPECT_FALSE(Has(store_, digest));
  }
}

TEST_P(StoreConformance, PassesOnWhyTheSourceFailed) {
  const Digest digest = DigestOf(std::string(1000, 'x'));
  EXPECT_EQ(CodeOf(store_.Put({}, digest, BrokenSource())),
            Code::kFailedPrecondition);
  EXPECT_FALSE(Has(store_, digest));
}

TEST_P(StoreConformance, TakesASourceThatIsCompressed) {
  const std::string text = RandomText(200'000) + std::string(500'000, 'a');
  const Digest digest = DigestOf(text);
  ASSERT_TRUE(store_.Put({}, digest, TextSource(Zstd(text), Encoding::kZstd)));
  EXPECT_EQ(MustRead(store_, digest), text);
}

TEST_P(StoreConformance, RefusesACompressedSourceThatIsDamagedOrTooLong) {
  const std::string text = RandomText(1000);
  const std::string encoded = Zstd(text);
  const Digest digest = DigestOf(text);
  for (const std::string& bad :
       {encoded.substr(0, 900), "x" + encoded, encoded + Zstd("more"),
        Zstd(std::string(50'000'000, 'a'))}) {
    EXPECT_EQ(CodeOf(store_.Put({}, digest, TextSource(bad, Encoding::kZstd))),
              Code::kDataLoss);
    EXPECT_FALSE(Has(store_, digest));
  }
}

TEST_P(StoreConformance, MayBeGivenABlobAgain) {
  const Digest digest = MustPut(store_, "hello");
  EXPECT_EQ(MustPut(store_, "hello"), digest);
  const Blob blob = BlobOf("hello");
  EXPECT_TRUE(store_.PutMany({}, std::span(&blob, 1))[0]);
  EXPECT_EQ(MustRead(store_, digest), "hello");
}

TEST_P(StoreConformance, PutsManyAndTellsOfEachByItself) {
  const Digest wrong = DigestOf("wrong");
  const std::vector<Blob> blobs = {
      BlobOf("one"), Blob::Claimed(wrong, Bytes::FromString("other")),
      Blob::Claimed(DigestOf("two"), Bytes::FromString("two")), BlobOf("one"),
      BlobOf("")};
  const auto results = store_.PutMany({}, blobs);
  std::vector<Code> codes;
  for (const auto& each : results) codes.push_back(CodeOf(each));
  EXPECT_THAT(codes, ElementsAre(Code::kOk, Code::kDataLoss, Code::kOk,
                                 Code::kOk, Code::kOk));
  EXPECT_FALSE(Has(store_, wrong));
  EXPECT_EQ(MustRead(store_, DigestOf("one")), "one");
  EXPECT_EQ(MustRead(store_, DigestOf("two")), "two");
  EXPECT_THAT(store_.PutMany({}, {}), IsEmpty());
}

TEST_P(StoreConformance, PutsThousandsAtOnce) {
  std::vector<Blob> blobs;
  std::vector<Digest> digests;
  for (unsigned i = 0; i < 2000; ++i) {
    blobs.push_back(BlobOf(RandomText(i % 100, i)));
    digests.push_back(blobs.back().digest());
  }
  for (const auto& each : store_.PutMany({}, blobs)) EXPECT_TRUE(each);
  EXPECT_THAT(store_.FindMissing({}, digests).value(), IsEmpty());
}

TEST_P(StoreConformance, GetsManyInTheOrderGivenAndTellsOfEachByItself) {
  const Digest a = MustPut(store_, "a"), b = MustPut(store_, "b");
  const Digest absent = DigestOf("absent");
  const std::vector<Digest> asked = {b, absent, a, b, absent};
  std::vector<std::string> got;
  for (const auto& each : store_.GetMany({}, asked)) {
    EXPECT_TRUE(!each || each->verified());
    got.push_back(each ? std::string(each->bytes().view())
                       : std::string(CodeName(each.error().code)));
  }
  EXPECT_THAT(got, ElementsAre("b", "NOT_FOUND", "a", "b", "NOT_FOUND"));
  EXPECT_THAT(store_.GetMany({}, {}), IsEmpty());
}

TEST_P(StoreConformance, GivesNoOtherEncodingThanOneThatIsAccepted) {
  const std::string text = RandomText(1000) + std::string(1000, 'a');
  const Digest digest = MustPut(store_, text);
  const auto plain = store_.GetEncoded({}, digest, 0, {}).value();
  EXPECT_EQ(plain->encoding(), Encoding::kIdentity);
  auto any = store_.GetEncoded({}, digest, 0, {.zstd = true}).value();
  if (any->encoding() == Encoding::kZstd) {
    any = codec::MakeDecodingReader(std::move(any), 2000);
  }
  std::vector<std::byte> buffer(3000);
  size_t size = 0;
  while (const size_t got =
             any->Read({}, std::span(buffer).subspan(size)).value()) {
    size += got;
  }
  EXPECT_EQ(std::string(reinterpret_cast<char*>(buffer.data()), size), text);
}

// A store may always say that it would have to wait.
TEST_P(StoreConformance, AnswersWithoutWaitingAsItDoesWithWaiting) {
  const std::string text = HalfRandom(10'000);
  const Digest digest = MustPut(store_, text);
  EXPECT_EQ(MustRead(store_, digest), text);
  auto tried = store_.TryGet(digest, 77, {});
  if (tried) {
    const auto reader = std::move(*tried).value();
    EXPECT_EQ(reader->encoding(), Encoding::kIdentity);
    auto next = reader->TryNext(20'000);
    if (!next) next = reader->Next({}, 20'000);
    EXPECT_EQ(next->value().view(), text.substr(77));
  }
  EXPECT_TRUE(tried || !store_.NeverWaits());
  tried = store_.TryGet(digest, 10'001, {});
  EXPECT_TRUE(!tried || CodeOf(*tried) == Code::kOutOfRange);
  tried = store_.TryGet(DigestOf("absent"), 0, {});
  EXPECT_TRUE(!tried || CodeOf(*tried) == Code::kNotFound);
}

TEST_P(StoreConformance, HandsOutItsOwnBytesPieceByPiece) {
  const std::string text = RandomText(100'000);
  const auto reader = store_.Get({}, MustPut(store_, text), 0).value();
  std::string got;
  while (true) {
    const Bytes next = reader->Next({}, 33'333).value();
    EXPECT_LE(next.size(), 33'333u);
    if (next.empty()) break;
    got += next.view();
  }
  EXPECT_EQ(got, text);
}

TEST_P(StoreConformance, TakesBytesAsTheyArrive) {
  const Digest digest = DigestOf("hello, world");
  const auto writer =
      store_.StartWrite({}, digest, "", Encoding::kIdentity).value();
  EXPECT_EQ(writer->offset(), 0);
  EXPECT_TRUE(writer->Write({}, AsBytes("hello, ")));
  EXPECT_EQ(writer->offset(), 7);
  EXPECT_TRUE(writer->Write({}, AsBytes("world")));
  EXPECT_FALSE(Has(store_, digest));
  EXPECT_TRUE(writer->Commit({}));
  EXPECT_EQ(MustRead(store_, digest), "hello, world");
}

TEST_P(StoreConformance, CommitsNothingThatIsShortLongOrWrong) {
  const Digest digest = DigestOf("hello");
  const auto brief =
      store_.StartWrite({}, digest, "", Encoding::kIdentity).value();
  EXPECT_TRUE(brief->Write({}, AsBytes("hell")));
  EXPECT_EQ(CodeOf(brief->Commit({})), Code::kInvalidArgument);
  const auto longer =
      store_.StartWrite({}, digest, "", Encoding::kIdentity).value();
  EXPECT_TRUE(longer->Write({}, AsBytes("hel")));
  EXPECT_EQ(CodeOf(longer->Write({}, AsBytes("lo!"))), Code::kOutOfRange);
  const auto wrong =
      store_.StartWrite({}, digest, "", Encoding::kIdentity).value();
  EXPECT_TRUE(wrong->Write({}, AsBytes("hallo")));
  EXPECT_EQ(CodeOf(wrong->Commit({})), Code::kDataLoss);
  EXPECT_FALSE(Has(store_, digest));
}

TEST_P(StoreConformance, ContinuesAWriteThatWasLeft) {
  const Digest digest = DigestOf("hello, world");
  auto writer =
      store_.StartWrite({}, digest, "id", Encoding::kIdentity).value();
  EXPECT_TRUE(writer->Write({}, AsBytes("hello")));
  writer.reset();
  writer = store_.StartWrite({}, digest, "id", Encoding::kIdentity).value();
  EXPECT_EQ(writer->offset(), 5);
  EXPECT_TRUE(writer->Write({}, AsBytes(", world")));
  EXPECT_TRUE(writer->Commit({}));
  EXPECT_EQ(MustRead(store_, digest), "hello, world");
}

TEST_P(StoreConformance, ContinuesOnlyTheWriteOfThatIdAndDigest) {
  const Digest digest = DigestOf("hello");
  for (const char* const id : {"", "one"}) {
    const auto writer =
        store_.StartWrite({}, digest, id, Encoding::kIdentity).value();
    EXPECT_TRUE(writer->Write({}, AsBytes("hel")));
  }
  EXPECT_EQ(
      store_.StartWrite({}, digest, "", Encoding::kIdentity).value()->offset(),
      0);
  EXPECT_EQ(store_.StartWrite({}, digest, "two", Encoding::kIdentity)
                .value()
                ->offset(),
            0);
  EXPECT_EQ(store_.StartWrite({}, DigestOf("x"), "one", Encoding::kIdentity)
                .value()
                ->offset(),
            0);
  EXPECT_EQ(store_.StartWrite({}, digest, "one", Encoding::kIdentity)
                .value()
                ->offset(),
            3);
}

TEST_P(StoreConformance, AbortsASecondWriterOfAnIdThatIsOpen) {
  const Digest digest = DigestOf("hello");
  const auto first =
      store_.StartWrite({}, digest, "id", Encoding::kIdentity).value();
  EXPECT_EQ(CodeOf(store_.StartWrite({}, digest, "id", Encoding::kIdentity)),
            Code::kAborted);
  EXPECT_TRUE(store_.StartWrite({}, digest, "other", Encoding::kIdentity));
  EXPECT_TRUE(first->Write({}, AsBytes("hello")));
  EXPECT_TRUE(first->Commit({}));
}

TEST_P(StoreConformance, BeginsAnewAfterACommit) {
  const Digest digest = DigestOf("hello");
  const auto wrong =
      store_.StartWrite({}, digest, "id", Encoding::kIdentity).value();
  EXPECT_TRUE(wrong->Write({}, AsBytes("hallo")));
  EXPECT_FALSE(wrong->Commit({}));
  const auto right =
      store_.StartWrite({}, digest, "id", Encoding::kIdentity).value();
  EXPECT_EQ(right->offset(), 0);
  EXPECT_TRUE(right->Write({}, AsBytes("hello")));
  EXPECT_TRUE(right->Commit({}));
  EXPECT_TRUE(Has(store_, digest));
}

// In pieces of `piece` bytes; the first failure ends it.
Result<void> WriteFrames(Writer& writer, std::string_view frames,
                         size_t piece = SIZE_MAX) {
  for (; !frames.empty();
       frames.remove_prefix(std::min(piece, frames.size()))) {
    auto taken = writer.Write({}, AsBytes(frames.substr(0, piece)));
    if (!taken) return taken;
  }
  return {};
}

TEST_P(StoreConformance, TakesFramesAsTheyArriveAndCountsWhatTheyDecodeTo) {
  const std::string text = HalfRandom(300'000);
  const Digest digest = DigestOf(text);
  const auto writer =
      store_.StartWrite({}, digest, "", Encoding::kZstd).value();
  EXPECT_EQ(writer->offset(), 0);
  ASSERT_TRUE(WriteFrames(*writer, Zstd(text.substr(0, 200'000)), 50'000));
  EXPECT_EQ(writer->offset(), 200'000);
  ASSERT_TRUE(WriteFrames(*writer, Zstd(text.substr(200'000))));
  EXPECT_EQ(writer->offset(), 300'000);
  EXPECT_FALSE(Has(store_, digest));
  EXPECT_TRUE(writer->Commit({}));
  EXPECT_EQ(MustRead(store_, digest), text);
}

TEST_P(StoreConformance, TakesAnyNumberOfFramesAcrossAnyBorders) {
  const std::string skippable("\x50\x2a\x4d\x18\x03\0\0\0abc", 11);
  for (const size_t piece : {1u, 7u, 1000u, 100'000u}) {
    const std::string text = "one" + HalfRandom(20'000 + piece) + "two";
    const std::string frames = skippable + Zstd("one") + Zstd("") +
                               Zstd(HalfRandom(20'000 + piece)) + skippable +
                               Zstd("two") + Zstd("") + skippable;
    const Digest digest = DigestOf(text);
    const auto writer =
        store_.StartWrite({}, digest, "", Encoding::kZstd).value();
    ASSERT_TRUE(WriteFrames(*writer, frames, piece));
    ASSERT_TRUE(writer->Commit({}));
    EXPECT_EQ(MustRead(store_, digest), text);
  }
}

TEST_P(StoreConformance, TakesTheEmptyBlobAsAFrameOrAsNothing) {
  const Digest empty = digest::EmptyDigest(DigestFunction::kSha256);
  for (const std::string& frames : {Zstd(""), std::string()}) {
    const auto writer =
        store_.StartWrite({}, empty, "", Encoding::kZstd).value();
    EXPECT_TRUE(WriteFrames(*writer, frames));
    EXPECT_TRUE(writer->Commit({}));
  }
  EXPECT_EQ(MustRead(store_, empty), "");
}

TEST_P(StoreConformance, RefusesWhatIsNoFrame) {
  const std::string text = HalfRandom(1000);
  const Digest digest = DigestOf(text);
  std::string flipped = Zstd(text);
  flipped[2] = static_cast<char>(flipped[2] ^ 4);
  for (const std::string& bad : {std::string("garbage"), "x" + Zstd(text),
                                 Zstd(text) + "xx....", flipped}) {
    const auto writer =
        store_.StartWrite({}, digest, "id", Encoding::kZstd).value();
    EXPECT_EQ(writer->offset(), 0);
    auto written = WriteFrames(*writer, bad, 100);
    if (written) written = writer->Commit({});
    EXPECT_EQ(CodeOf(written), Code::kInvalidArgument);
    EXPECT_EQ(CodeOf(writer->Commit({})), Code::kFailedPrecondition);
    EXPECT_FALSE(Has(store_, digest));
  }
}

TEST_P(StoreConformance, RefusesAFrameThatHasNoEnd) {
  const std::string text = HalfRandom(1000);
  const std::string frames = Zstd(text);
  const Digest digest = DigestOf(text);
  for (const std::string& cut :
       {frames.substr(0, frames.size() - 1), frames.substr(0, 4),
        frames + Zstd("").substr(0, 5), frames + "\x28"}) {
    const auto writer =
        store_.StartWrite({}, digest, "", Encoding::kZstd).value();
    EXPECT_TRUE(WriteFrames(*writer, cut));
    EXPECT_EQ(CodeOf(writer->Commit({})), Code::kInvalidArgument);
    EXPECT_FALSE(Has(store_, digest));
  }
}

TEST_P(StoreConformance, RefusesFramesOfTooFewOrOfOtherBytes) {
  const Digest digest = DigestOf("hello");
  const auto brief = store_.StartWrite({}, digest, "", Encoding::kZstd).value();
  EXPECT_TRUE(WriteFrames(*brief, Zstd("hell")));
  EXPECT_EQ(CodeOf(brief->Commit({})), Code::kInvalidArgument);
  const auto wrong = store_.StartWrite({}, digest, "", Encoding::kZstd).value();
  EXPECT_TRUE(WriteFrames(*wrong, Zstd("hallo")));
  EXPECT_EQ(CodeOf(wrong->Commit({})), Code::kDataLoss);
  EXPECT_FALSE(Has(store_, digest));
}

TEST_P(StoreConformance, StopsFramesThatHoldMoreThanTheBlob) {
  const std::string bomb = Zstd(std::string(50'000'000, '\0'));
  for (const std::string& text : {std::string(10, '\0'), std::string()}) {
    for (const std::string& frames :
         {bomb, Zstd(text + "x"), Zstd(text) + Zstd("x")}) {
      const auto writer =
          store_.StartWrite({}, DigestOf(text), "id", Encoding::kZstd).value();
      EXPECT_EQ(CodeOf(WriteFrames(*writer, frames)), Code::kOutOfRange);
      EXPECT_LE(writer->offset(), 10);
    }
  }
}

TEST_P(StoreConformance, ContinuesAWriteThatWasLeftInEitherEncoding) {
  const std::string text = HalfRandom(600'000);
  const Digest digest = DigestOf(text);
  for (int i = 0; i < 8; ++i) {
    const std::string id = "id" + std::to_string(i);
    int64_t offset = 0;
    for (const int bit : {1, 2, 4}) {
      const Encoding encoding =
          (i & bit) != 0 ? Encoding::kZstd : Encoding::kIdentity;
      const auto writer = store_.StartWrite({}, digest, id, encoding).value();
      ASSERT_EQ(writer->offset(), offset);
      const std::string rest = text.substr(static_cast<size_t>(offset));
      const std::string sent = encoding == Encoding::kZstd ? Zstd(rest) : rest;
      // Cut anywhere, so also within a frame.
      ASSERT_TRUE(WriteFrames(
          *writer, sent.substr(0, bit == 4 ? sent.size() : 140'000)));
      EXPECT_GT(writer->offset(), offset);
      offset = writer->offset();
      if (bit == 4) {
        EXPECT_TRUE(writer->Commit({}));
      }
    }
    EXPECT_EQ(MustRead(store_, digest), text);
  }
}

TEST_P(StoreConformance, FindsNoWriterAgainThatFailed) {
  const Digest digest = DigestOf("hello");
  auto writer =
      store_.StartWrite({}, digest, "id", Encoding::kIdentity).value();
  EXPECT_TRUE(writer->Write({}, AsBytes("hel")));
  EXPECT_EQ(CodeOf(writer->Write({}, AsBytes("lo!"))), Code::kOutOfRange);
  EXPECT_EQ(CodeOf(writer->Write({}, AsBytes("lo"))),
            Code::kFailedPrecondition);
  writer = store_.StartWrite({}, digest, "id", Encoding::kZstd).value();
  EXPECT_EQ(writer->offset(), 0);
  EXPECT_TRUE(WriteFrames(*writer, Zstd("hel")));
  EXPECT_FALSE(writer->Write({}, AsBytes("garbage")));
  writer = store_.StartWrite({}, digest, "id", Encoding::kZstd).value();
  EXPECT_EQ(writer->offset(), 0);
}

TEST_P(StoreConformance, FindsAWriterAgainThatWasCancelled) {
  const Digest digest = DigestOf("hello");
  for (const Encoding encoding : {Encoding::kIdentity, Encoding::kZstd}) {
    auto writer = store_.StartWrite({}, digest, "id", encoding).value();
    const auto begin = encoding == Encoding::kZstd ? Zstd("hel") : "hel";
    EXPECT_TRUE(WriteFrames(*writer, begin));
    EXPECT_EQ(CodeOf(writer->Write(Cancelled(), AsBytes("lo"))),
              Code::kCancelled);
    EXPECT_EQ(CodeOf(writer->Write({}, AsBytes("lo"))),
              Code::kFailedPrecondition);
    writer.reset();
    writer = store_.StartWrite({}, digest, "id", Encoding::kIdentity).value();
    EXPECT_EQ(writer->offset(), 3);
    EXPECT_TRUE(writer->Write({}, AsBytes("lo")));
    EXPECT_TRUE(writer->Commit({}));
  }
  EXPECT_EQ(MustRead(store_, digest), "hello");
}

TEST_P(StoreConformance, StopsWhenItIsCancelled) {
  const Digest here = MustPut(store_, "here");
  const Blob blob = BlobOf("hello");
  const Digest digest = blob.digest();
  const Context stopped = Cancelled();
  EXPECT_EQ(CodeOf(store_.FindMissing(stopped, std::span(&here, 1))),
            Code::kCancelled);
  EXPECT_EQ(CodeOf(store_.Get(stopped, here, 0)), Code::kCancelled);
  EXPECT_EQ(CodeOf(store_.GetMany(stopped, std::span(&here, 1))[0]),
            Code::kCancelled);
  EXPECT_EQ(CodeOf(store_.Put(stopped, digest, TextSource("hello"))),
            Code::kCancelled);
  EXPECT_EQ(CodeOf(store_.PutMany(stopped, std::span(&blob, 1))[0]),
            Code::kCancelled);
  EXPECT_EQ(CodeOf(store_.StartWrite(stopped, digest, "", Encoding::kIdentity)),
            Code::kCancelled);
  EXPECT_FALSE(Has(store_, digest));
}

TEST_P(StoreConformance, StopsReadersAndWritersWhenTheyAreCancelled) {
  const auto reader = store_.Get({}, MustPut(store_, "here"), 0).value();
  std::byte buffer[10];
  EXPECT_EQ(CodeOf(reader->Read(Cancelled(), buffer)), Code::kCancelled);
  const Digest digest = DigestOf("hello");
  const auto writer =
      store_.StartWrite({}, digest, "", Encoding::kIdentity).value();
  EXPECT_EQ(CodeOf(writer->Write(Cancelled(), AsBytes("hello"))),
            Code::kCancelled);
  EXPECT_FALSE(Has(store_, digest));
}

TEST_P(StoreConformance, TakesTheSameBlobsFromSeveralThreads) {
  std::vector<Blob> blobs;
  for (unsigned i = 0; i < 50; ++i) blobs.push_back(BlobOf(RandomText(99, i)));
  const std::string large = RandomText(300'000);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (const auto& each : store_.PutMany({}, blobs)) EXPECT_TRUE(each);
      EXPECT_EQ(MustRead(store_, MustPut(store_, large)), large);
      for (const Blob& blob : blobs) {
        EXPECT_EQ(MustRead(store_, blob.digest()), blob.bytes().view());
      }
    });
  }
}

}  // namespace

::testing::internal::ParamGenerator<MakeStore> ConformanceOf(MakeStore make) {
  return ::testing::Values(std::move(make));
}

}  // namespace casemate::testing
