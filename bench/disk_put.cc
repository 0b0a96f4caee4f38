#include "bench/disk_put.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "base/check.h"
#include "bench/corpus.h"
#include "bench/floor.h"
#include "casemate/stores.h"

namespace casemate::bench {
namespace {

// As a push gives them: at most this many blobs or bytes in a batch.
constexpr size_t kBatchBlobs = 1000;
constexpr size_t kBatchBytes = 4 << 20;

std::vector<Blob> Blobs(const Contents& contents) {
  std::vector<Blob> blobs;
  for (const auto& [path, text] : contents) {
    blobs.push_back(Blob::Of(DigestFunction::kSha256, Bytes::FromString(text)));
  }
  return blobs;
}

std::vector<std::span<const Blob>> Batches(const std::vector<Blob>& blobs) {
  std::vector<std::span<const Blob>> batches;
  for (size_t begin = 0, end = 0; begin < blobs.size(); begin = end) {
    size_t bytes = 0;
    while (end < blobs.size() && end - begin < kBatchBlobs &&
           bytes < kBatchBytes) {
      bytes += blobs[end++].bytes().size();
    }
    batches.push_back(std::span(blobs).subspan(begin, end - begin));
  }
  return batches;
}

void PutAll(BlobStore& store, const std::vector<Blob>& blobs, int threads) {
  const auto batches = Batches(blobs);
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (size_t each; (each = next.fetch_add(1)) < batches.size();) {
        for (const auto& put : store.PutMany({}, batches[each])) {
          CASEMATE_CHECK(put.has_value());
        }
      }
    });
  }
}

}  // namespace

std::vector<RowResult> PutManyToDisk(const Options& options) {
  const std::string tree = Scratch(MemoryFolder()) + "/tree";
  CorpusShape shape;
  shape.files = options.smoke ? 50 : 4672;
  MakeTree(tree, shape);
  const Contents contents = ReadAll(tree);
  const std::vector<Blob> blobs = Blobs(contents);
  const std::string scratch = Scratch(DiskFolder());

  auto fresh = [&, count = 0]() mutable {
    const std::string path = scratch + "/" + std::to_string(count++);
    std::filesystem::create_directory(path);
    return path;
  };
  const auto floor = [&](int threads) {
    return [&, threads] {
      const std::string folder = fresh();
      return Timed([&] { WriteDurably(contents, folder, threads); });
    };
  };
  const auto ours = [&](int threads) {
    return [&, threads] {
      const auto store = DiskStore::Open(fresh());
      CASEMATE_CHECK(store.has_value());
      return Timed([&] { PutAll(**store, blobs, threads); });
    };
  };
  const std::string base = "write, syncfs, rename, syncfs by 250";
  return {RunArms("store 4,672 small blobs on disk", "s",
                  {{base, floor(1)},
                   {base + ", two threads", floor(2)},
                   {"PutMany", ours(1)},
                   {"PutMany, two threads", ours(2)},
                   {"PutMany, four threads", ours(4)}},
                  options.rounds, {{"PutMany, four threads", base, 1.4}})};
}

}  // namespace casemate::bench
