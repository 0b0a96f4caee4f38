#include "store/disk_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "files/sys.h"
#include "store/for_test.h"
#include "testing/store_conformance.h"
#include "testing/store_helpers.h"
#include "testing/temp_dir.h"

namespace casemate::testing {
namespace {

StoreUnderTest NewDiskStore(DiskStoreOptions options) {
  auto dir = std::make_shared<TempDir>();
  auto store = DiskStore::Open(*dir / "store", options).value();
  return {std::move(dir), std::move(store)};
}

INSTANTIATE_TEST_SUITE_P(DiskStore, StoreConformance,
                         ConformanceOf([] { return NewDiskStore({}); }));
INSTANTIATE_TEST_SUITE_P(UnsyncedDiskStore, StoreConformance, ConformanceOf([] {
                           return NewDiskStore(
                               {.sync = DiskStoreOptions::Sync::kOff});
                         }));
INSTANTIATE_TEST_SUITE_P(ZstdDiskStore, StoreConformance, ConformanceOf([] {
                           return NewDiskStore({.at_rest = Encoding::kZstd});
                         }));

}  // namespace
}  // namespace casemate::testing

namespace casemate::store {
namespace {

using testing::BlobOf;
using testing::DigestOf;
using testing::Has;
using testing::MustPut;
using testing::MustRead;
using testing::TextSource;

TEST(DiskStore, IsStillThereWhenItIsOpenedAgain) {
  StoreFolder folder;
  const Digest digest = MustPut(*folder.Open(), "hello");
  EXPECT_EQ(MustRead(*folder.Open(), digest), "hello");
}

TEST(DiskStore, HoldsABlobInAFileNamedAfterItsHash) {
  StoreFolder folder;
  MustPut(*folder.Open(), "hello");
  const std::string file =
      folder.path() +
      "/cas/sha256/2c/"
      "f24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  EXPECT_EQ(testing::ReadFile(file), "hello");
  struct stat stat;
  ASSERT_EQ(::stat(file.c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode & 0222, 0u) << "anybody could overwrite it";
}

TEST(DiskStore, LeavesHolesWhereABlobIsZero) {
  StoreFolder folder;
  const auto store = folder.Open();
  const Digest digest = MustPut(*store, "x" + std::string(8 << 20, '\0'));
  struct stat stat;
  ASSERT_EQ(::stat(folder.PathOf(digest).c_str(), &stat), 0);
  EXPECT_LT(stat.st_blocks * 512, 1 << 20);
}

TEST(DiskStore, MakesTheFolderAndItsParents) {
  testing::TempDir dir;
  const auto store = DiskStore::Open(dir / "a/b/c");
  ASSERT_TRUE(store);
  EXPECT_EQ((*store)->folder(), dir / "a/b/c");
  EXPECT_EQ(testing::ReadFile(dir / "a/b/c/VERSION"),
            "casemate disk store 1\n");
}

TEST(DiskStore, SaysWhyItsFolderCannotBeMade) {
  testing::TempDir dir;
  testing::WriteFile(dir / "file", "");
  const auto store = DiskStore::Open(dir / "file/store");
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(store.error().message,
            "make store folder " + dir.path() + "/file/store: not a directory");
}

TEST(DiskStore, MayBeReachedThroughALink) {
  testing::TempDir dir;
  std::filesystem::create_directory(dir / "real");
  std::filesystem::create_symlink("real", dir / "link");
  const Digest digest = MustPut(**DiskStore::Open(dir / "link"), "hello");
  EXPECT_EQ(MustRead(**DiskStore::Open(dir / "real"), digest), "hello");
}

TEST(DiskStore, RefusesAVersionThatItDoesNotKnow) {
  StoreFolder folder;
  folder.Open();
  std::filesystem::remove(folder.path() + "/VERSION");
  testing::WriteFile(folder.path() + "/VERSION", "casemate disk store 2\n");
  const auto store = folder.TryOpen();
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(store.error().message,
            "open store " + folder.path() +
                ": its layout \"casemate disk store 2\" is not known to this "
                "program, which knows \"casemate disk store 1\"");
}

TEST(DiskStore, RefusesAFolderOfSomethingElseAndLeavesItAlone) {
  testing::TempDir dir;
  testing::WriteFile(dir / "thesis.tex", "precious");
  const auto store = DiskStore::Open(dir.path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kFailedPrecondition);
  EXPECT_NE(store.error().message.find("thesis.tex"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(dir / "VERSION"));
}

TEST(DiskStore, TakesAnEmptyFolderAndOneWhereMakingItWasCutShort) {
  testing::TempDir dir;
  testing::WriteFile(dir / "VERSION-0123456789abcdef", "casem");
  EXPECT_TRUE(DiskStore::Open(dir.path()));
}

TEST(DiskStore, MayBeMadeByTwoProcessesAtOnce) {
  StoreFolder folder;
  std::unique_ptr<DiskStore> other;  // Made when ours has found no VERSION yet.
  files::sys::FaultInjector meanwhile(
      {.before = [&](const files::sys::Call& call) {
        if (call.name == "getdents64" && !other) other = folder.Open();
      }});
  const auto ours = folder.TryOpen();
  ASSERT_TRUE(ours) << ours.error().message;
  const Digest digest = MustPut(*other, "hello");
  EXPECT_EQ(MustRead(**ours, digest), "hello");
}

TEST(DiskStore, IsNotDisturbedByForeignFiles) {
  StoreFolder folder;
  const auto store = folder.Open();
  const Digest digest = MustPut(*store, "hello");
  const std::string shard =
      std::filesystem::path(folder.PathOf(digest)).parent_path();
  testing::WriteFile(folder.path() + "/README", "mine");
  testing::WriteFile(shard + "/README", "mine");
  std::filesystem::create_directory(folder.path() + "/cas/md5");
  EXPECT_EQ(MustRead(*store, digest), "hello");
  EXPECT_TRUE(store->Gc({}, {.max_bytes = 0}));
  EXPECT_FALSE(Has(*store, digest));
  EXPECT_EQ(testing::ReadFile(shard + "/README"), "mine");
}

TEST(DiskStore, DoesNotTakeALinkOrADirectoryForABlob) {
  StoreFolder folder;
  const auto store = folder.Open();
  const Digest a = MustPut(*store, "a"), b = MustPut(*store, "b");
  testing::WriteFile(folder.path() + "/outside", "a");
  std::filesystem::remove(folder.PathOf(a));
  std::filesystem::create_symlink(folder.path() + "/outside", folder.PathOf(a));
  std::filesystem::remove(folder.PathOf(b));
  std::filesystem::create_directory(folder.PathOf(b));
  for (const Digest& digest : {a, b}) {
    EXPECT_FALSE(Has(*store, digest));
    EXPECT_EQ(store->Get({}, digest, 0).error().code, Code::kNotFound);
  }
}

TEST(DiskStore, SharesItsFolderWithOtherProcesses) {
  StoreFolder folder;
  const auto one = folder.Open(), other = folder.Open();
  const Digest digest = MustPut(*one, "hello");
  EXPECT_TRUE(Has(*other, digest));
  EXPECT_EQ(MustPut(*other, "hello"), digest);
  EXPECT_EQ(MustRead(*other, digest), "hello");
}

TEST(DiskStore, LeavesNothingTemporaryBehind) {
  StoreFolder folder;
  {
    const auto store = folder.Open();
    MustPut(*store, "hello");
    const auto writer =
        store->StartWrite({}, DigestOf("left"), "id", Encoding::kIdentity)
            .value();
    EXPECT_TRUE(writer->Write({}, AsBytes("le")));
    EXPECT_FALSE(store->Put({}, DigestOf("x"), TextSource("y")));
    EXPECT_EQ(folder.CountFiles("tmp"), 1u);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() + "/tmp"));
}

TEST(DiskStore, RemovesWhatDeadProcessesLeftButNotWhatLivingOnesWrite) {
  StoreFolder folder;
  const auto living = folder.Open();
  const auto writer =
      living->StartWrite({}, DigestOf("hello"), "", Encoding::kIdentity)
          .value();
  EXPECT_TRUE(writer->Write({}, AsBytes("hel")));
  std::filesystem::create_directory(folder.path() + "/tmp/dead");
  testing::WriteFile(folder.path() + "/tmp/dead/1", "junk");
  folder.Open();
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/tmp/dead"));
  EXPECT_TRUE(writer->Write({}, AsBytes("lo")));
  EXPECT_TRUE(writer->Commit({}));
}

// Another process opens the store between the making and the locking.
TEST(DiskStore, MakesItsTemporaryFolderAgainIfItWasTakenForADeadOne) {
  StoreFolder folder;
  folder.Open();
  std::unique_ptr<DiskStore> store;
  bool removed = false;
  {
    files::sys::FaultInjector meanwhile(
        {.before = [&](const files::sys::Call& call) {
          const std::filesystem::directory_iterator made(folder.path() +
                                                         "/tmp");
          if (call.name != "flock" || removed || made == end(made)) return;
          std::filesystem::remove(made->path());
          removed = true;
        }});
    store = folder.Open();
  }
  EXPECT_TRUE(removed);
  EXPECT_EQ(MustRead(*store, MustPut(*store, "hello")), "hello");
}

TEST(DiskStore, FailsInWordsWhenItsFolderVanishes) {
  StoreFolder folder;
  const auto store = folder.Open();
  const Digest digest = MustPut(*store, "hello");
  std::filesystem::remove_all(folder.path());
  EXPECT_EQ(store->Get({}, digest, 0).error().code, Code::kNotFound);
  const Blob blob = BlobOf("hello");
  for (const auto& result : {store->Put({}, digest, TextSource("hello")),
                             store->PutMany({}, std::span(&blob, 1))[0]}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
    EXPECT_EQ(result.error().message,
              "write to the store: its folder has vanished");
  }
}

// Exits with 0 if all is as it should be.
[[noreturn]] void UseReadOnly(const std::string& path, const Digest& digest) {
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0) CASEMATE_CHECK(setresuid(kNobody, kNobody, kNobody) == 0);
  const auto store = DiskStore::Open(path).value();
  CASEMATE_CHECK(MustRead(*store, digest) == "hello");
  CASEMATE_CHECK(store->Put({}, digest, TextSource("hello")));
  const auto put = store->Put({}, DigestOf("more"), TextSource("more"));
  CASEMATE_CHECK(!put && put.error().code == Code::kPermissionDenied);
  std::fprintf(stderr, "%s", put.error().message.c_str());
  _exit(0);
}

TEST(DiskStore, CanBeReadWhereItMustNotBeWritten) {
  namespace fs = std::filesystem;
  StoreFolder folder;
  const Digest digest = MustPut(*folder.Open(), "hello");
  const auto allow = [&](fs::perms perms) {
    fs::permissions(fs::path(folder.path()).parent_path(), perms);
    for (const auto& each : fs::recursive_directory_iterator(folder.path())) {
      fs::permissions(each, perms);
    }
    fs::permissions(folder.path(), perms);
  };
  allow(static_cast<fs::perms>(0555));
  EXPECT_EXIT(UseReadOnly(folder.path(), digest), ::testing::ExitedWithCode(0),
              "write to the store: .*permission denied");
  allow(fs::perms::all);
}

TEST(DiskStore, KnowsAboutHowMuchItHolds) {
  StoreFolder folder;
  {
    const auto store = folder.Open();
    EXPECT_EQ(store->ApproximateBytes(), 0);
    MustPut(*store, "12345");
    const std::vector<Blob> blobs = {BlobOf("123"), BlobOf("123"),
                                     BlobOf("12345")};
    store->PutMany({}, blobs);
    EXPECT_EQ(store->ApproximateBytes(), 8);
  }
  const auto store = folder.Open();
  EXPECT_EQ(store->ApproximateBytes(), 8);
  EXPECT_TRUE(store->Gc({}, {.max_bytes = 5}));
  EXPECT_LE(store->ApproximateBytes(), 5);
}

TEST(DiskStore, AddsUpWhatSeveralProcessesStore) {
  StoreFolder folder;
  {
    const auto one = folder.Open(), other = folder.Open();
    MustPut(*one, "12345");
    MustPut(*other, "123");
  }
  EXPECT_EQ(folder.Open()->ApproximateBytes(), 8);
}

TEST(DiskStore, CountsFromZeroWhenTheCountIsUnreadable) {
  StoreFolder folder;
  MustPut(*folder.Open(), "12345");
  testing::WriteFile(folder.path() + "/usage", "what?");
  EXPECT_EQ(folder.Open()->ApproximateBytes(), 0);
}

}  // namespace
}  // namespace casemate::store
