// Blobs that the disk store keeps as zstd.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codec/zstd.h"
#include "files/sys.h"
#include "store/block_table.h"
#include "store/disk_layout.h"
#include "store/for_test.h"
#include "testing/store_helpers.h"

namespace casemate::store {
namespace {

using files::sys::Call;
using files::sys::FaultInjector;
using testing::BlobOf;
using testing::DigestOf;
using testing::Has;
using testing::MustPut;
using testing::MustRead;
using testing::RandomText;
using testing::ReadFile;
using testing::ReadFrom;
using testing::TextSource;
using testing::Zstd;

constexpr size_t kBlock = kBlockBytes;

// Half of each stretch of it compresses.
std::string HalfRandom(size_t size) {
  std::string text;
  for (unsigned seed = 0; text.size() < size; ++seed) {
    text += RandomText(5000, seed) + std::string(5000, 'a');
  }
  return text.substr(0, size);
}

std::string ReadAllOf(Reader& reader) {
  std::string text;
  while (true) {
    const Bytes next = reader.Next({}, 100'000).value();
    if (next.empty()) return text;
    text += next.view();
  }
}

std::string Decoded(const std::string& frames) {
  const auto reader = codec::MakeDecodingReader(
      TextSource(frames, Encoding::kZstd).Open({}, 0).value(), INT64_MAX);
  return ReadAllOf(*reader);
}

class DiskZstd : public ::testing::Test {
 protected:
  DiskZstd() { clock_.Advance(std::chrono::minutes(1)); }

  // All that was trusted is forgotten.
  void Reopen() {
    store_ = nullptr;
    store_ = folder_.Open(clock_);
  }

  std::string Kept(const Digest& digest) const {
    return ReadFile(folder_.PathOf(digest));
  }

  std::unique_ptr<Reader> GetFrames(const Digest& digest, int64_t offset = 0) {
    return store_->GetEncoded({}, digest, offset, {.zstd = true}).value();
  }

  Digest PutFrames(const std::string& text, const std::string& frames) {
    const Digest digest = DigestOf(text);
    EXPECT_TRUE(store_->Put({}, digest, TextSource(frames, Encoding::kZstd)));
    return digest;
  }

  void ExpectReadsFromEverywhere(const Digest& digest,
                                 const std::string& text) {
    const auto end = static_cast<int64_t>(text.size());
    for (const int64_t offset :
         {int64_t{0}, int64_t{1}, kBlockBytes - 1, kBlockBytes, kBlockBytes + 1,
          2 * kBlockBytes, end - 1, end}) {
      if (offset > end) continue;
      const auto got = ReadFrom(*store_, digest, offset);
      ASSERT_TRUE(got) << offset << ": " << got.error().message;
      EXPECT_TRUE(*got == text.substr(static_cast<size_t>(offset))) << offset;
    }
  }

  StoreFolder folder_{Encoding::kZstd};
  FakeClock clock_;
  std::unique_ptr<DiskStore> store_ = folder_.Open(clock_);
};

TEST_F(DiskZstd, KeepsWhatArrivesPlainInBlocksWithATable) {
  const std::string text = HalfRandom(2 * kBlock + 500'000);
  const Digest digest = MustPut(*store_, text);
  ASSERT_TRUE(folder_.IsZstd(digest));
  const std::string kept = Kept(digest);
  EXPECT_LT(kept.size(), text.size() * 6 / 10);
  EXPECT_EQ(Decoded(kept), text);
  EXPECT_EQ(kept.substr(kept.size() - 4), "\xb1\xea\x92\x8f");
  EXPECT_EQ(store_->ApproximateBytes(), static_cast<int64_t>(kept.size()));
}

TEST_F(DiskZstd, NamesTheFileAfterHashAndSize) {
  const Digest digest = MustPut(*store_, std::string(10'000, 'a'));
  EXPECT_EQ(folder_.PathOf(digest), folder_.path() + "/cas/sha256/" +
                                        digest.Hex().substr(0, 2) + "/" +
                                        digest.Hex().substr(2) + ".10000.zst");
}

TEST_F(DiskZstd, KeepsOneBlockAsOneFrameAlone) {
  for (const size_t size : {size_t{8193}, size_t{100'000}, kBlock}) {
    const std::string text = std::string(size, 'a');
    const Digest digest = MustPut(*store_, text);
    const Blob blob = BlobOf(std::string(size, 'b'));
    ASSERT_TRUE(store_->PutMany({}, std::span(&blob, 1))[0]);
    for (const Digest& each : {digest, blob.digest()}) {
      ASSERT_TRUE(folder_.IsZstd(each));
      EXPECT_LT(Kept(each).size(), 200u);
      EXPECT_EQ(Decoded(Kept(each)).size(), size);
    }
  }
}

TEST_F(DiskZstd, KeepsAsItIsWhatWouldNotSaveEnough) {
  const std::string random = RandomText(100'000);
  for (const std::string& text :
       {std::string(4096, 'a'), RandomText(4097), random,
        RandomText(5000) + std::string(3000, 'a'),
        RandomText(kBlock) + std::string(kBlock, 'a')}) {
    const Digest digest = MustPut(*store_, text);
    EXPECT_FALSE(folder_.IsZstd(digest)) << text.size();
    EXPECT_TRUE(Kept(digest) == text);
    EXPECT_TRUE(MustRead(*store_, digest) == text);
  }
}

TEST_F(DiskZstd, ReadsBlocksFromAnywhereTrustedOrNot) {
  const std::string text = HalfRandom(3 * kBlock + 77);
  const Digest digest = MustPut(*store_, text);
  ASSERT_TRUE(folder_.IsZstd(digest));
  for (const int64_t first : {int64_t{0}, kBlockBytes + 1}) {
    Reopen();
    EXPECT_TRUE(ReadFrom(*store_, digest, first).value() ==
                text.substr(static_cast<size_t>(first)));
    ExpectReadsFromEverywhere(digest, text);
  }
}

TEST_F(DiskZstd, DecodesNoMoreBlocksThanItMust) {
  const std::string text = HalfRandom(20 * kBlock);
  const Digest digest = MustPut(*store_, text);
  EXPECT_TRUE(MustRead(*store_, digest) == text);
  FaultInjector watch(
      {.counts = [](const Call& call) { return call.name == "pread"; }});
  EXPECT_TRUE(ReadFrom(*store_, digest, 19 * kBlockBytes + 1000).value() ==
              text.substr(19 * kBlock + 1000));
  EXPECT_LE(watch.calls(), 10) << "a block is about half a MiB";
}

TEST_F(DiskZstd, HandsOutBlocksAsTheyAreWithoutTheirTable) {
  const std::string text = HalfRandom(2 * kBlock + 9);
  const Digest digest = MustPut(*store_, text);
  const std::string kept = Kept(digest);
  for (int i = 0; i < 2; ++i) {  // Once checked on the way, once trusted.
    const auto reader = GetFrames(digest);
    EXPECT_EQ(reader->encoding(), Encoding::kZstd);
    EXPECT_EQ(reader->TryNext(10).has_value(), i == 1);
    EXPECT_TRUE(i == 1 ||
                ReadAllOf(*reader) == kept.substr(0, kept.size() - 41));
  }
}

TEST_F(DiskZstd, HandsOutFramesFromTheMiddleOfBlocks) {
  const std::string text = HalfRandom(3 * kBlock + 77);
  const Digest digest = MustPut(*store_, text);
  const std::string kept = Kept(digest);
  for (const int64_t offset : {int64_t{5}, kBlockBytes, kBlockBytes + 1,
                               3 * kBlockBytes - 1, 3 * kBlockBytes + 76}) {
    Reopen();
    const auto reader = GetFrames(digest, offset);
    EXPECT_EQ(reader->encoding(), Encoding::kZstd);
    const std::string frames = ReadAllOf(*reader);
    EXPECT_TRUE(Decoded(frames) == text.substr(static_cast<size_t>(offset)));
    if (offset < 2 * kBlockBytes) {
      EXPECT_NE(kept.find(frames.substr(frames.size() - 100'000)), kept.npos)
          << "whole blocks stay as they are";
    }
  }
  EXPECT_EQ(ReadAllOf(*GetFrames(digest, 3 * kBlockBytes + 77)), "");
}

TEST_F(DiskZstd, KeepsAndHandsOutFramesAsTheyCame) {
  const std::string text = HalfRandom(1'500'000);
  const std::string frames =
      Zstd(text.substr(0, 400'000)) + Zstd("") + Zstd(text.substr(400'000));
  const Digest digest = DigestOf(text);
  const auto writer =
      store_->StartWrite({}, digest, "", Encoding::kZstd).value();
  for (size_t at = 0; at < frames.size(); at += 33'333) {
    ASSERT_TRUE(writer->Write({}, AsBytes(frames.substr(at, 33'333))));
  }
  ASSERT_TRUE(writer->Commit({}));
  EXPECT_TRUE(Kept(digest) == frames);
  EXPECT_TRUE(ReadAllOf(*GetFrames(digest)) == frames);
  EXPECT_TRUE(ReadAllOf(*GetFrames(digest)) == frames);
  ExpectReadsFromEverywhere(digest, text);
}

TEST_F(DiskZstd, KeepsTheFramesOfASourceAndOfASmallBlobAsTheyCame) {
  const std::string text = HalfRandom(50'000);
  const std::string frames = Zstd(text.substr(0, 7)) + Zstd(text.substr(7));
  EXPECT_TRUE(Kept(PutFrames(text, frames)) == frames);
  const std::string other = "x" + text;
  const Blob blob = BlobOf(other).WithZstd(Bytes::FromString(Zstd(other)));
  ASSERT_TRUE(store_->PutMany({}, std::span(&blob, 1))[0]);
  EXPECT_TRUE(Kept(blob.digest()) == Zstd(other));
  EXPECT_TRUE(MustRead(*store_, blob.digest()) == other);
}

TEST_F(DiskZstd, DecodesFramesThatSaveTooLittle) {
  const std::string small = RandomText(100'000), large = RandomText(6'000'000);
  for (const std::string* const text : {&small, &large}) {
    const Digest digest = PutFrames(*text, Zstd(*text));
    EXPECT_FALSE(folder_.IsZstd(digest));
    EXPECT_TRUE(Kept(digest) == *text);
  }
  const Blob blob =
      BlobOf("x" + small).WithZstd(Bytes::FromString(Zstd("x" + small)));
  ASSERT_TRUE(store_->PutMany({}, std::span(&blob, 1))[0]);
  EXPECT_FALSE(folder_.IsZstd(blob.digest()));
}

TEST_F(DiskZstd, GoesOnInBlocksWhereAFrameWasCut) {
  const std::string text = HalfRandom(3 * kBlock);
  const std::string frames = Zstd(text);
  const Digest digest = DigestOf(text);
  auto writer = store_->StartWrite({}, digest, "id", Encoding::kZstd).value();
  ASSERT_TRUE(writer->Write({}, AsBytes(frames.substr(0, 1'000'000))));
  writer.reset();
  for (int i = 0; i < 2; ++i) {  // To ask is not to go on.
    writer.reset();
    writer = store_->StartWrite({}, digest, "id", Encoding::kZstd).value();
    EXPECT_GT(writer->offset(), 1'500'000);
  }
  const auto offset = static_cast<size_t>(writer->offset());
  ASSERT_TRUE(writer->Write({}, AsBytes(Zstd(text.substr(offset)))));
  ASSERT_TRUE(writer->Commit({}));
  ASSERT_TRUE(folder_.IsZstd(digest));
  EXPECT_EQ(Kept(digest).substr(Kept(digest).size() - 4), "\xb1\xea\x92\x8f");
  ExpectReadsFromEverywhere(digest, text);
}

TEST_F(DiskZstd, GoesOnAsItCameWhereNoFrameWasCut) {
  const std::string text = HalfRandom(200'000);
  const std::string one = Zstd(text.substr(0, 90'000)),
                    two = Zstd(text.substr(90'000));
  auto writer =
      store_->StartWrite({}, DigestOf(text), "id", Encoding::kZstd).value();
  ASSERT_TRUE(writer->Write({}, AsBytes(one)));
  writer.reset();
  writer =
      store_->StartWrite({}, DigestOf(text), "id", Encoding::kZstd).value();
  ASSERT_TRUE(writer->Write({}, AsBytes(two)));
  ASSERT_TRUE(writer->Commit({}));
  EXPECT_TRUE(Kept(DigestOf(text)) == one + two);
}

TEST_F(DiskZstd, GoesOnWithABlockThatWasBegunBeforeItWasLeft) {
  const std::string text = HalfRandom(2 * kBlock + 100);
  const Digest digest = DigestOf(text);
  const size_t step = 300'000;
  for (size_t at = 0; at < text.size(); at += step) {
    const auto writer =
        store_->StartWrite({}, digest, "id", Encoding::kIdentity).value();
    ASSERT_EQ(writer->offset(), static_cast<int64_t>(at));
    ASSERT_TRUE(writer->Write({}, AsBytes(text.substr(at, step / 2))));
    ASSERT_TRUE(writer->Write(
        {}, AsBytes(std::string_view(text).substr(
                std::min(at + step / 2, text.size()), step / 2))));
    const bool last = at + step >= text.size();
    ASSERT_TRUE(!last || writer->Commit({}));
  }
  ASSERT_TRUE(folder_.IsZstd(digest));
  ExpectReadsFromEverywhere(digest, text);
}

// Their unfinished blocks would be 60 MiB.
TEST_F(DiskZstd, HoldsLittleOfManyUploadsAtOnce) {
  std::vector<std::string> texts;
  std::vector<std::unique_ptr<Writer>> writers;
  for (unsigned i = 0; i < 60; ++i) {
    texts.push_back(std::to_string(i) + std::string(kBlock + 99, 'a'));
    writers.push_back(
        store_->StartWrite({}, DigestOf(texts[i]), "", Encoding::kIdentity)
            .value());
  }
  const auto write = [&](size_t begin, size_t end) {
    for (size_t at = begin; at < end; at += 250'000) {
      for (size_t i = 0; i < writers.size(); ++i) {
        const std::string piece = texts[i].substr(at, 250'000);
        ASSERT_TRUE(writers[i]->Write({}, AsBytes(piece)));
      }
    }
  };
  write(0, 1'000'000);
  EXPECT_GT(folder_.CountBytes("tmp"), 25'000'000u) << "the rest is in memory";
  write(1'000'000, kBlock + 101);
  for (size_t i = 0; i < writers.size(); ++i) {
    ASSERT_TRUE(writers[i]->Commit({}));
    EXPECT_TRUE(MustRead(*store_, DigestOf(texts[i])) == texts[i]);
  }
}

TEST_F(DiskZstd, DoesNotBelieveATableThatDisagreesWithItsFrames) {
  const std::string text = HalfRandom(3 * kBlock);
  std::string frames;
  std::vector<uint32_t> sizes;
  for (size_t at = 0; at < text.size(); at += kBlock) {
    const std::string frame = Zstd(text.substr(at, kBlock));
    frames += frame;
    sizes.push_back(static_cast<uint32_t>(frame.size()));
  }
  // The second block is said to be the third.
  std::vector<uint32_t> lies = {sizes[0] + sizes[1], sizes[2], 1};
  const auto table = MakeBlockTable(lies, static_cast<int64_t>(text.size()));
  frames.append(reinterpret_cast<const char*>(table.data()), table.size());
  const Digest digest = PutFrames(text, frames);
  EXPECT_TRUE(Kept(digest) == frames);
  for (const int64_t first : {int64_t{0}, kBlockBytes}) {
    Reopen();
    EXPECT_TRUE(ReadFrom(*store_, digest, first).value() ==
                text.substr(static_cast<size_t>(first)));
    ExpectReadsFromEverywhere(digest, text);
  }
}

TEST_F(DiskZstd, ReadsABlobRightlyWhateverIsDamagedOrReportsIt) {
  const std::string text = HalfRandom(2 * kBlock + 9);
  const Digest digest = MustPut(*store_, text);
  const std::string kept = Kept(digest);
  std::vector<size_t> places = {0, 5, 100'000, kept.size() / 2};
  for (size_t back = 1; back <= 60; ++back)
    places.push_back(kept.size() - back);
  for (const size_t at : places) {
    std::string bad = kept;
    bad[at] = static_cast<char>(bad[at] ^ 2);
    for (const int64_t first : {int64_t{0}, kBlockBytes + 5}) {
      folder_.Overwrite(digest, bad);
      Reopen();
      const auto got = ReadFrom(*store_, digest, first);
      if (got) {
        EXPECT_TRUE(*got == text.substr(static_cast<size_t>(first))) << at;
        EXPECT_TRUE(ReadFrom(*store_, digest, kBlockBytes).value() ==
                    text.substr(kBlock));
        continue;
      }
      EXPECT_EQ(got.error().code, Code::kDataLoss) << got.error().message;
      EXPECT_FALSE(Has(*store_, digest));
      ASSERT_EQ(MustPut(*store_, text), digest);
    }
  }
}

TEST_F(DiskZstd, MovesAsideWhatWasCutShortOrGrew) {
  const std::string text = HalfRandom(100'000);
  const Digest digest = MustPut(*store_, text);
  const std::string kept = Kept(digest);
  for (const std::string& bad :
       {kept.substr(0, kept.size() - 1), kept.substr(0, 10), std::string(),
        kept + "x", kept + kept, Zstd(text + "x"), Zstd(text.substr(1)),
        Zstd("x" + text.substr(1)), std::string(kept.size(), '\0')}) {
    for (const bool frames : {false, true}) {
      folder_.Overwrite(digest, bad);
      Reopen();
      const auto reader = store_->GetEncoded({}, digest, 0, {.zstd = frames});
      Code code = reader ? Code::kOk : reader.error().code;
      while (code == Code::kOk) {
        const auto next = (*reader)->Next({}, 10'000'000);
        if (!next) code = next.error().code;
        ASSERT_TRUE(!next || !next->empty()) << bad.size() << frames;
      }
      EXPECT_EQ(code, Code::kDataLoss);
      EXPECT_FALSE(Has(*store_, digest));
      EXPECT_EQ(folder_.CountFiles("damaged"), 1u);
      MustPut(*store_, text);
    }
  }
  EXPECT_TRUE(store_->Gc({}, {}));
  EXPECT_EQ(folder_.CountFiles("damaged"), 0u);
}

TEST_F(DiskZstd, IsVerifiedAndCollectedByTheSizesOfItsFiles) {
  const Digest good = MustPut(*store_, std::string(100'000, 'a'));
  const Digest bad = MustPut(*store_, std::string(100'000, 'b'));
  const auto size = static_cast<int64_t>(Kept(good).size());
  EXPECT_EQ(store_->Gc({}, {})->bytes_before, 2 * size);
  folder_.Overwrite(bad, Kept(good));
  const auto report = store_->VerifyAll({}).value();
  EXPECT_EQ(report.damaged, std::vector{bad.ToString()});
  EXPECT_TRUE(report.foreign.empty());
  EXPECT_EQ(report.blobs, 2);
  EXPECT_EQ(store_->ApproximateBytes(), size);
  EXPECT_EQ(store_->Gc({}, {.max_bytes = 0})->bytes_removed, size);
  EXPECT_FALSE(Has(*store_, good));
}

TEST_F(DiskZstd, IsReadAndFoundByAStoreThatKeepsBlobsAsTheyAre) {
  const auto plain = DiskStore::Open(folder_.path()).value();
  const std::string text = HalfRandom(2'000'000);
  EXPECT_FALSE(Has(*plain, DigestOf(text)));
  const Digest digest = MustPut(*store_, text);
  EXPECT_TRUE(Has(*plain, digest));
  EXPECT_TRUE(MustRead(*plain, digest) == text);
  MustPut(*plain, text);
  EXPECT_EQ(folder_.CountFiles("cas"), 1u);
}

TEST_F(DiskZstd, KeepsNoSecondFormOfABlobThatIsThere) {
  const std::string text = std::string(100'000, 'a');
  const Blob blob = BlobOf(text);
  MustPut(*DiskStore::Open(folder_.path()).value(), text);
  ASSERT_TRUE(store_->PutMany({}, std::span(&blob, 1))[0]);
  EXPECT_EQ(folder_.CountFiles("cas"), 1u);
  EXPECT_TRUE(MustRead(*store_, blob.digest()) == text);
}

TEST_F(DiskZstd, AsksForOneNameWhereNoBlobWasEverKeptSo) {
  StoreFolder plain;
  const auto store = plain.Open();
  MustPut(*store, std::string(10'000, 'a'));
  const std::vector<Digest> asked = {DigestOf(std::string(10'000, 'a')),
                                     DigestOf(std::string(10'000, 'b')),
                                     DigestOf(std::string(10'000, 'c'))};
  FaultInjector watch({.counts = [](const Call& call) {
    return std::string(call.path).ends_with(".zst");
  }});
  EXPECT_EQ(store->FindMissing({}, asked)->size(), 2u);
  EXPECT_EQ(watch.calls(), 0);
}

TEST_F(DiskZstd, AnswersWithoutWaiting) {
  if (!files::sys::HasOpenAt2()) GTEST_SKIP();
  const std::string text = HalfRandom(60'000);
  const Digest digest = MustPut(*store_, text);
  EXPECT_FALSE(store_->TryGet(digest, 0, {.zstd = true}));
  EXPECT_TRUE(MustRead(*store_, digest) == text);
  const auto frames =
      std::move(*store_->TryGet(digest, 0, {.zstd = true})).value();
  EXPECT_EQ(frames->encoding(), Encoding::kZstd);
  EXPECT_TRUE(frames->TryNext(100'000)->value().view() == Kept(digest));
  const auto plain = std::move(*store_->TryGet(digest, 77, {})).value();
  EXPECT_EQ(plain->encoding(), Encoding::kIdentity);
  EXPECT_TRUE(plain->TryNext(100'000)->value().view() == text.substr(77));
}

TEST_F(DiskZstd, LeavesToGetWhatTakesLongToDecode) {
  if (!files::sys::HasOpenAt2()) GTEST_SKIP();
  const std::string text = HalfRandom(2 * kBlock);
  const Digest digest = MustPut(*store_, text);
  EXPECT_TRUE(MustRead(*store_, digest) == text);
  EXPECT_FALSE(store_->TryGet(digest, 0, {}));
  const auto frames =
      std::move(*store_->TryGet(digest, 0, {.zstd = true})).value();
  EXPECT_TRUE(frames->TryNext(10'000'000)->value().view() ==
              Kept(digest).substr(0, Kept(digest).size() - 33));
}

TEST(DiskLayout, KnowsItsNamesAndNoOthers) {
  const Digest digest = DigestOf("x");
  const std::string rest = digest.Hex().substr(2),
                    shard = digest.Hex().substr(0, 2);
  const auto parsed = [&](const std::string& name) {
    return ParseFileName(DigestFunction::kSha256, shard, name, 7);
  };
  EXPECT_EQ(parsed(rest)->digest.size(), 7);
  EXPECT_EQ(parsed(rest)->form, Encoding::kIdentity);
  EXPECT_EQ(parsed(rest + ".4097.zst")->digest.size(), 4097);
  EXPECT_EQ(parsed(rest + ".4097.zst")->form, Encoding::kZstd);
  for (const char* const bad :
       {".zst", ".4096.zst", ".04097.zst", ".-4097.zst", ".+4097.zst", ".4097",
        ".4097.zst2", ".4097.zst.zst", ".99999999999999999999.zst", ".",
        "..zst", ". 4097.zst"}) {
    EXPECT_FALSE(parsed(rest + bad)) << bad;
  }
}

}  // namespace
}  // namespace casemate::store
