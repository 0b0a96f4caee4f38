// Somebody who may write in the tree exchanges directories and files for links
// to a secret while we open, as fast as he can. Each attack runs in a child
// process, because a filter cannot be taken off and the probe for openat2 is
// made once a process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "casemate/bytes.h"
#include "files/attack_scene.h"
#include "files/file_cursor.h"
#include "files/for_test.h"
#include "files/resolve.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

// A million opens in all; fewer where each takes its time.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int64_t kThousand = 100;
#else
constexpr int64_t kThousand = 1000;
#endif

// What came of many opens.
struct Tally {
  int64_t opens = 0;
  int64_t succeeded = 0;
  std::string leak;  // What went wrong first; empty if nothing did.

  template <typename T>
  bool Count(const Result<T>& result) {
    ++opens;
    if (result) ++succeeded;
    return result.has_value();
  }
};

// An attack: what is done in each round, and how many opens of a thousand must
// succeed, or else the attack proves nothing. A disk takes a thousand times as
// long to create as to refuse, so refusals are many.
struct Deed {
  void (*round)(const AttackScene&, const Root&, Tally&);
  int64_t successes_per_thousand;
};

// Stats and opens by every kind of call that reads, through the directory and
// at the file that the attacker exchanges.
void ReadRound(const AttackScene& scene, const Root& root, Tally& tally) {
  for (const char* const path : {"a/d/f", "a/f"}) {
    const auto stat = root.StatPath(path);
    if (tally.Count(stat) && scene.IsSecret(*stat)) tally.leak = "stat";
    const auto file = root.OpenFile(path);
    if (tally.Count(file) && (scene.IsSecret(file->stat()) ||
                              ContentOf(*file) != AttackScene::kInside)) {
      tally.leak = "open";
    }
    // Not saved by the check of the inode.
    if (tally.Count(root.OpenFile(path, scene.secret()))) tally.leak = "open";
  }
  const auto directory = root.OpenDirectory("a/d");
  if (tally.Count(directory) && scene.IsSecret(*directory->StatSelf())) {
    tally.leak = "open directory";
  }
}

// Opens the same files again and again with a cursor, which does it in the
// directory that it holds.
void NeighboursRound(const AttackScene& scene, const Root& root, Tally& tally) {
  for (const char* const path : {"a/d/f", "a/f"}) {
    const auto stat = root.StatPath(path);
    if (!tally.Count(stat)) continue;
    FileCursor honest, prying;
    for (int i = 0; i < 8; ++i) {
      const auto file = honest.OpenFile(root, path, *stat);
      if (tally.Count(file) && (scene.IsSecret(file->stat()) ||
                                ContentOf(*file) != AttackScene::kInside)) {
        tally.leak = "open of a neighbour";
      }
      // Not saved by the check of the inode.
      if (tally.Count(prying.OpenFile(root, path, scene.secret()))) {
        tally.leak = "open of a neighbour";
      }
    }
  }
}

// Creates, and removes again from the real directory: what is not there was
// made elsewhere.
void WriteRound(const AttackScene& scene, const Root& root, Tally& tally) {
  if (tally.Count(root.CreateFile("a/d/x", 0644)) &&
      !scene.real().Unlink("x")) {
    tally.leak = "create";
  }
  if (tally.Count(root.MakeDirectory("a/d/x", 0755)) &&
      !scene.real().RemoveDirectory("x")) {
    tally.leak = "make directory";
  }
  if (tally.Count(root.MakeSymlink("a/d/x", "anywhere")) &&
      !scene.real().Unlink("x")) {
    tally.leak = "make link";
  }
  if (tally.Count(root.MakeDirectories("a/d/x/y", 0755))) {
    if (!scene.real().RemoveTree({}, "x")) tally.leak = "make directories";
  } else {
    (void)scene.real().RemoveTree({}, "x");  // Perhaps "x", but not "y".
  }
}

constexpr Deed kRead = {ReadRound, 100};
constexpr Deed kReadNeighbours = {NeighboursRound, 30};
constexpr Deed kWrite = {WriteRound, 1};

// What is wrong with `opens` opens under attack; nothing should be.
std::string Attack(const Deed& deed, Way expected, int64_t opens) {
  if (Choose({}) != expected) return "the probe chose the other way to resolve";
  const AttackScene scene;
  const Root root = MustRoot(scene.root());
  Tally tally;
  int64_t exchanges = 0;
  {
    const Attacker attacker(scene);
    while (tally.opens < opens && tally.leak.empty()) {
      deed.round(scene, root, tally);
    }
    exchanges = attacker.exchanges();
  }
  if (!tally.leak.empty()) return tally.leak + " led outside";
  if (!scene.IsUntouched()) return "something appeared outside";
  if (exchanges < opens / 100) return "the attacker hardly came to his turn";
  if (tally.succeeded < opens / 1000 * deed.successes_per_thousand) {
    return "hardly any open succeeded";
  }
  if (tally.succeeded == tally.opens) return "the attack was never felt";
  return "";
}

std::string AttackOpenat2(const Deed& deed, int64_t opens) {
  return InChild([&]() -> std::string {
    if (!sys::HasOpenAt2()) return "no openat2";
    return Attack(deed, Way::kOpenat2, opens);
  });
}

std::string AttackFiltered(const Deed& deed, int error, int64_t opens) {
  return InChild([&] {
    ForbidOpenAt2(error);
    return Attack(deed, Way::kComponentWalk, opens);
  });
}

TEST(Attack, NeverReadsOutsideWithOpenat2) {
  const std::string outcome = AttackOpenat2(kRead, 400 * kThousand);
  if (outcome == "no openat2") GTEST_SKIP() << "this kernel has no openat2";
  EXPECT_EQ(outcome, "");
}

TEST(Attack, NeverReadsNeighboursOutsideWithOpenat2) {
  const std::string outcome = AttackOpenat2(kReadNeighbours, 200 * kThousand);
  if (outcome == "no openat2") GTEST_SKIP() << "this kernel has no openat2";
  EXPECT_EQ(outcome, "");
}

TEST(Attack, NeverWritesOutsideWithOpenat2) {
  const std::string outcome = AttackOpenat2(kWrite, 100 * kThousand);
  if (outcome == "no openat2") GTEST_SKIP() << "this kernel has no openat2";
  EXPECT_EQ(outcome, "");
}

TEST(Attack, NeverReadsOutsideWhereOpenat2IsUnknown) {
  EXPECT_EQ(AttackFiltered(kRead, ENOSYS, 250 * kThousand), "");
}

TEST(Attack, NeverReadsNeighboursOutsideWhereOpenat2IsUnknown) {
  EXPECT_EQ(AttackFiltered(kReadNeighbours, ENOSYS, 100 * kThousand), "");
}

TEST(Attack, NeverWritesOutsideWhereOpenat2IsUnknown) {
  EXPECT_EQ(AttackFiltered(kWrite, ENOSYS, 60 * kThousand), "");
}

TEST(Attack, NeverReadsOutsideWhereOpenat2IsForbidden) {
  EXPECT_EQ(AttackFiltered(kRead, EPERM, 150 * kThousand), "");
}

TEST(Attack, NeverWritesOutsideWhereOpenat2IsForbidden) {
  EXPECT_EQ(AttackFiltered(kWrite, EPERM, 40 * kThousand), "");
}

// That these tests can bite: the same attack on code that looks first whether
// there is a link on its way, and then opens.

bool LooksHarmless(const std::string& path) {
  struct stat stat;
  return lstat(path.c_str(), &stat) == 0 && !S_ISLNK(stat.st_mode);
}

bool NaiveReadLeaks(const AttackScene& scene) {
  const std::string directory = scene.root() + "/a/d";
  if (!LooksHarmless(directory)) return false;
  const Descriptor opened(
      open((directory + "/f").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat stat;
  return opened && fstat(opened.get(), &stat) == 0 &&
         scene.IsSecret(FromSystem(stat));
}

// As a cursor would that trusted the name once it holds the directory.
bool NaiveNeighbourLeaks(const AttackScene& scene) {
  if (!LooksHarmless(scene.root() + "/a/f")) return false;
  const Directory held = MustHold(scene.root() + "/a");
  const Descriptor opened(
      openat(held.descriptor().get(), "f", O_RDONLY | O_CLOEXEC));
  struct stat stat;
  return opened && fstat(opened.get(), &stat) == 0 &&
         scene.IsSecret(FromSystem(stat));
}

bool NaiveWriteLeaks(const AttackScene& scene) {
  const std::string directory = scene.root() + "/a/d";
  if (!LooksHarmless(directory)) return false;
  const Descriptor created(
      open((directory + "/x").c_str(),
           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  return created && !scene.real().Unlink("x");
}

template <typename Function>
bool LeaksUnderAttack(Function naive) {
  const AttackScene scene;
  const Attacker attacker(scene);
  for (int64_t opens = 0; opens < 10'000 * kThousand; ++opens) {
    if (naive(scene)) return true;
  }
  return false;
}

TEST(Attack, BitesCodeThatLooksBeforeItReads) {
  EXPECT_TRUE(LeaksUnderAttack(NaiveReadLeaks));
}

TEST(Attack, BitesCodeThatTrustsANameInADirectoryItHolds) {
  EXPECT_TRUE(LeaksUnderAttack(NaiveNeighbourLeaks));
}

TEST(Attack, BitesCodeThatLooksBeforeItWrites) {
  EXPECT_TRUE(LeaksUnderAttack(NaiveWriteLeaks));
}

TEST(Attack, NeverRemovesWhatIsOutside) {
  const AttackScene scene;
  const Directory held = MustHold(scene.root());
  const Root root = MustRoot(scene.root());
  const std::string d = scene.root() + "/t/d", link = d + ".link";
  std::atomic<int64_t> exchanges = 0;
  const std::jthread attacker([&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      exchanges += renameat2(AT_FDCWD, d.c_str(), AT_FDCWD, link.c_str(),
                             RENAME_EXCHANGE) == 0;
    }
  });
  for (int64_t round = 0; round < kThousand / 2 || exchanges < 100; ++round) {
    ASSERT_LT(round, 1000 * kThousand);
    ASSERT_TRUE(root.MakeDirectories("t/d/x/y", 0755));
    ASSERT_TRUE(root.MakeSymlink("t/d.link", "../../out"));
    const auto removed = held.RemoveTree({}, "t");
    ASSERT_TRUE(removed) << removed.error().message;
  }
  EXPECT_TRUE(scene.IsUntouched());
}

}  // namespace
}  // namespace casemate::files
