// Push and pull of a tree while somebody exchanges directories below it with
// links to a secret. (files/attack_test.cc attacks single opens, and shows that
// the attack works on who does not resist it.)

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "casemate/pull.h"
#include "casemate/push.h"
#include "casemate/stores.h"
#include "digest/hasher.h"
#include "files/attack_scene.h"
#include "testing/temp_dir.h"
#include "tree/directory.h"

namespace casemate {
namespace {

namespace fs = std::filesystem;
using files::Attacker;
using files::AttackScene;

constexpr int kTransfers = 1000;

TEST(Attack, OnAPushYieldsNotOneByteFromOutside) {
  const AttackScene scene;
  const auto store = MakeMemoryStore();
  Resources resources;
  const Digest inside =
      digest::Hash(DigestFunction::kSha256, AsBytes(AttackScene::kInside));
  const Digest secret =
      digest::Hash(DigestFunction::kSha256, AsBytes(AttackScene::kSecret));
  {
    const Attacker attacker(scene);
    for (int i = 0; i < kTransfers; ++i) {
      const auto pushed = Push({}, resources, *store, scene.root());
      ASSERT_TRUE(pushed) << pushed.error().message;
    }
    EXPECT_GT(attacker.exchanges(), kTransfers);
  }
  EXPECT_TRUE(store->FindMissing({}, std::span(&inside, 1))->empty());
  EXPECT_EQ(store->FindMissing({}, std::span(&secret, 1))->size(), 1u);
  EXPECT_TRUE(scene.IsUntouched());
}

// A stored tree "a/d" of some files, to be pulled into a scene.
Digest StoreTree(BlobStore& store, DigestFunction function) {
  const auto put = [&](const std::string& bytes) {
    const Blob blob = Blob::Of(function, Bytes::FromString(bytes));
    EXPECT_TRUE(store.PutMany({}, std::span(&blob, 1)).at(0));
    return blob.digest();
  };
  tree::Directory d;
  for (int i = 10; i < 60; ++i) {
    d.files.push_back({std::to_string(i), put("pulled"), false, {}});
  }
  d.symlinks.push_back({"link", "target", {}});
  tree::Directory a;
  a.directories.push_back({"d", put(tree::Encode(d))});
  tree::Directory root;
  root.directories.push_back({"a", put(tree::Encode(a))});
  return put(tree::Encode(root));
}

TEST(Attack, OnAMergeWritesNothingOutside) {
  const AttackScene scene;
  const auto store = MakeMemoryStore();
  const Digest root = StoreTree(*store, DigestFunction::kSha256);
  Resources resources;
  int whole = 0;
  {
    const Attacker attacker(scene);
    for (int i = 0; i < kTransfers; ++i) {
      const auto pulled = Pull({}, resources, *store, root, scene.root(),
                               {.existing = PullOptions::Existing::kMerge});
      if (pulled && pulled->failed.empty()) ++whole;
    }
    EXPECT_GT(attacker.exchanges(), kTransfers);
  }
  EXPECT_TRUE(scene.IsUntouched());
  EXPECT_TRUE(fs::exists(scene.root() + "/a/d/10") ||
              fs::exists(scene.root() + "/a/d.link/10"))
      << "no pull wrote anything; " << whole << " said they did";
}

// Finds staging directories below `parent` as they appear, and exchanges their
// "a/d" with a link to `outside`.
void AttackStaging(const std::string& parent, const std::string& outside,
                   const std::atomic<bool>& stop, int& exchanges) {
  const std::string link = parent + "/link";
  fs::create_directory_symlink(outside, link);
  while (!stop) {
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator(parent, gone)) {
      if (!entry.path().filename().string().starts_with(".casemate-staging")) {
        continue;
      }
      const std::string victim = entry.path().string() + "/a/d";
      for (int i = 0; i < 50; ++i) {
        if (renameat2(AT_FDCWD, victim.c_str(), AT_FDCWD, link.c_str(),
                      RENAME_EXCHANGE) == 0) {
          ++exchanges;
        }
      }
    }
  }
}

TEST(Attack, OnAStagingDirectoryWritesNothingOutside) {
  const testing::TempDir dir;
  fs::create_directories(dir / "outside");
  fs::create_directories(dir / "parent");
  const auto store = MakeMemoryStore();
  const Digest root = StoreTree(*store, DigestFunction::kSha256);
  Resources resources;
  std::atomic<bool> stop = false;
  int exchanges = 0;
  {
    std::jthread attacker([&] {
      AttackStaging(dir / "parent", dir / "outside", stop, exchanges);
    });
    for (int i = 0; i < kTransfers / 20; ++i) {
      (void)Pull({}, resources, *store, root,
                 dir / ("parent/copy" + std::to_string(i)));
    }
    stop = true;
  }
  EXPECT_GT(exchanges, 0);
  EXPECT_TRUE(fs::is_empty(dir / "outside"));
}

}  // namespace
}  // namespace casemate
