#include "bench/tree_rows.h"

#include <filesystem>
#include <memory>
#include <string>

#include "base/check.h"
#include "bench/corpus.h"
#include "bench/floor.h"
#include "casemate/pull.h"
#include "casemate/push.h"
#include "casemate/stores.h"

namespace casemate::bench {
namespace {

CorpusShape Shape(const Options& options) {
  CorpusShape shape;
  if (options.smoke) shape = {.directories = 5, .files = 50, .bytes = 1 << 18};
  return shape;
}

template <typename T>
T Must(Result<T> result) {
  if (!result) std::fprintf(stderr, "%s\n", result.error().message.c_str());
  CASEMATE_CHECK(result.has_value());
  return std::move(*result);
}

// A fresh directory for each round of an arm.
class Rounds {
 public:
  explicit Rounds(const std::string& below) : folder_(Scratch(below)) {}
  std::string Next() {
    const std::string path = folder_ + "/" + std::to_string(count_++);
    std::filesystem::create_directory(path);
    return path;
  }

 private:
  const std::string folder_;
  int count_ = 0;
};

}  // namespace

std::vector<RowResult> PushToMemory(const Options& options) {
  const std::string tree = Scratch(MemoryFolder()) + "/tree";
  MakeTree(tree, Shape(options));
  Resources resources;
  const Arm floor{"bare loop, two threads",
                  [&] { return Timed([&] { WalkReadHash(tree); }); }};
  const Arm ours{
      "push to mem:", [&] {
        const auto store = MakeMemoryStore();
        return Timed([&] { Must(Push({}, resources, *store, tree)); });
      }};
  const auto warm = MakeMemoryStore();
  const Arm again{
      "push, nothing missing",
      [&] { return Timed([&] { Must(Push({}, resources, *warm, tree)); }); }};
  return {RunArms("push 4,400 files to mem:", "s", {floor, ours, again},
                  options.rounds * 3, {{ours.name, floor.name, 1.4}})};
}

std::vector<RowResult> PushToDisk(const Options& options) {
  // Other content each round: what a store already has costs nothing.
  const std::string sources = Scratch(MemoryFolder());
  std::vector<std::string> trees;
  std::vector<Contents> contents;
  for (int round = 0; round <= options.rounds; ++round) {
    CorpusShape shape = Shape(options);
    shape.seed = static_cast<uint64_t>(round) + 10;
    trees.push_back(sources + "/" + std::to_string(round));
    MakeTree(trees.back(), shape);
    contents.push_back(ReadAll(trees.back()));
  }
  Resources resources;
  const std::string folder = Scratch(DiskFolder()) + "/store";
  const auto store = Must(DiskStore::Open(folder));
  const auto without_sync = Must(
      DiskStore::Open(folder + "-off", {.sync = DiskStoreOptions::Sync::kOff}));
  Rounds rounds(DiskFolder());

  const auto floor = [&](int threads) {
    return [&, threads, round = 0]() mutable {
      const Contents& each = contents[static_cast<size_t>(round++)];
      const std::string into = rounds.Next();
      return Timed([&] { WriteDurably(each, into, threads); });
    };
  };
  const auto ours = [&](BlobStore& into) {
    return [&, round = 0]() mutable {
      const std::string& tree = trees[static_cast<size_t>(round++)];
      return Timed([&] { Must(Push({}, resources, into, tree)); });
    };
  };
  const std::string name = "push to dir:, durable";
  const std::string base = "write, syncfs, rename, syncfs by 250";
  return {RunArms("push 4,400 files to dir: on disk", "s",
                  {{base, floor(1)},
                   {base + ", two threads", floor(2)},
                   {name, ours(*store)},
                   {"push to dir:, --sync=off", ours(*without_sync)}},
                  options.rounds, {{name, base, 1.4}})};
}

std::vector<RowResult> PullToMemory(const Options& options) {
  const std::string tree = Scratch(MemoryFolder()) + "/tree";
  MakeTree(tree, Shape(options));
  const Contents contents = ReadAll(tree);
  Resources resources;
  const auto memory = MakeMemoryStore();
  const Digest root = Must(Push({}, resources, *memory, tree)).root;
  const auto disk =
      Must(DiskStore::Open(Scratch(MemoryFolder()) + "/store",
                           {.sync = DiskStoreOptions::Sync::kOff}));
  Must(Push({}, resources, *disk, tree));
  Rounds rounds(MemoryFolder());

  const Arm floor{"bare loop, two threads", [&] {
                    const std::string into = rounds.Next();
                    return Timed([&] { CreateWriteHash(contents, into); });
                  }};
  const auto ours = [&](BlobStore& store) {
    return [&] {
      const std::string into = rounds.Next();
      return Timed([&] { Must(Pull({}, resources, store, root, into)); });
    };
  };
  return {RunArms("pull 4,400 files to memory", "s",
                  {floor,
                   {"pull from mem:", ours(*memory)},
                   {"pull from dir:", ours(*disk)}},
                  options.rounds * 3,
                  {{"pull from mem:", floor.name, 1.5},
                   {"pull from dir:", floor.name, 1.5}})};
}

}  // namespace casemate::bench
