#include "bench/try_get.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "base/check.h"
#include "bench/corpus.h"
#include "casemate/stores.h"
#include "store/disk_layout.h"

namespace casemate::bench {
namespace {

constexpr size_t kBlobBytes = 4096;
constexpr int kRepeats = 10;  // Of all blobs, in a round of an arm.

std::vector<Blob> MakeBlobs(int count) {
  std::mt19937 random(1);
  std::vector<Blob> blobs;
  for (int i = 0; i < count; ++i) {
    std::string text(kBlobBytes, ' ');
    for (char& each : text) each = static_cast<char>(random());
    blobs.push_back(
        Blob::Of(DigestFunction::kSha256, Bytes::FromString(std::move(text))));
  }
  return blobs;
}

// So that all of them are trusted and cached.
void ReadOnce(BlobStore& store, const std::vector<Blob>& blobs) {
  for (const Blob& blob : blobs) {
    const Digest digest = blob.digest();
    CASEMATE_CHECK(store.GetMany({}, std::span(&digest, 1))[0]);
  }
}

// The least that it takes, without any check.
void ReadBare(int root, const Digest& digest) {
  const std::string path(store::BlobPath(digest).path());
  const int fd = openat(root, path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat stat;
  CASEMATE_CHECK(fd >= 0 && fstat(fd, &stat) == 0);
  const auto size = static_cast<size_t>(stat.st_size);
  const auto buffer = std::make_unique_for_overwrite<char[]>(size);
  CASEMATE_CHECK(pread(fd, buffer.get(), size, 0) == stat.st_size);
  CASEMATE_CHECK(close(fd) == 0);
}

void TryRead(BlobStore& store, const Digest& digest) {
  auto reader = store.TryGet(digest, 0, {.zstd = true});
  CASEMATE_CHECK(reader && *reader);
  const auto bytes = (**reader)->TryNext(1 << 20);
  CASEMATE_CHECK(bytes && (*bytes)->size() == kBlobBytes);
}

void Read(BlobStore& store, const Digest& digest) {
  const auto reader = store.GetEncoded({}, digest, 0, {.zstd = true});
  CASEMATE_CHECK(reader && (*reader)->Next({}, 1 << 20)->size() == kBlobBytes);
}

}  // namespace

std::vector<RowResult> TryGetFromDisk(const Options& options) {
  const std::vector<Blob> blobs = MakeBlobs(options.smoke ? 20 : 2048);
  const std::string folder = Scratch(DiskFolder());
  const auto store = DiskStore::Open(folder).value();
  for (const auto& put : store->PutMany({}, blobs)) CASEMATE_CHECK(put);
  // What has just been written is not trusted.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ReadOnce(*store, blobs);
  const int root = open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);

  const auto arm = [&](const std::string& name, auto read) -> Arm {
    return {name, [&, read] {
              return Timed([&] {
                       for (int i = 0; i < kRepeats; ++i) {
                         for (const Blob& blob : blobs) read(blob.digest());
                       }
                     }) /
                     static_cast<double>(blobs.size()) / kRepeats * 1e6;
            }};
  };
  const std::string bare = "openat, fstat, pread, close";
  RowResult row =
      RunArms("read a 4 KiB blob of a disk store", "µs",
              {arm(bare, [&](const Digest& digest) { ReadBare(root, digest); }),
               arm("TryGet, TryNext",
                   [&](const Digest& digest) { TryRead(*store, digest); }),
               arm("GetEncoded, Next",
                   [&](const Digest& digest) { Read(*store, digest); })},
              options.rounds * 3, {{"TryGet, TryNext", bare, 1.5}});
  close(root);
  return {row};
}

}  // namespace casemate::bench
