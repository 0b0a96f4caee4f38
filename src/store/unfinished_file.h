// UnfinishedFile: an upload to a disk store on its way.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "casemate/digest.h"
#include "store/own_file.h"
#include "store/partial_writes.h"
#include "store/publisher.h"
#include "store/temp_folder.h"

namespace casemate::store {

// Frames as they arrived, byte for byte. One thread.
class ForeignFile {
 public:
  explicit ForeignFile(TempFile file) : file_(std::move(file)) {}

  Result<void> Append(std::span<const std::byte> frames) {
    return file_.file().Write(frames);
  }

  // The first `size` bytes that they decode to, to which they have been found
  // to decode.
  Result<void> DecodeInto(const Context& ctx, int64_t size, OwnFile& own) const;

  TempFile& file() { return file_; }
  int64_t size() { return file_.file().size(); }

 private:
  mutable TempFile file_;
};

// What a file needs of its store, which outlives it.
struct FileMaker {
  std::function<Result<TempFile>()> create;
  AtRest at_rest;
  bool durable = true;
  Publisher& publisher;
  std::atomic<int64_t> held = 0;  // See OwnFile.
};

// Frames are kept as they come, where the store keeps zstd, as long as they
// save enough and none was cut; all else becomes a file of our own.
class UnfinishedFile : public Unfinished {
 public:
  UnfinishedFile(FileMaker& maker, const Digest& digest, TempFile file)
      : maker_(maker), digest_(digest), empty_(std::move(file)) {}

  bool KeepsFrames() const override;
  Result<void> Append(const Context& ctx,
                      std::span<const std::byte> data) override;
  Result<void> AppendFrames(const Context& ctx,
                            std::span<const std::byte> frames, int64_t decoded,
                            bool whole) override;
  void Rest() override;
  Result<void> Resume(const Context& ctx, Encoding encoding) override;
  Result<void> Publish(const Context& ctx) override;

 private:
  OwnFile MakeOwn(TempFile file, AtRest at_rest);
  Result<void> Decode(const Context& ctx, AtRest at_rest);
  Result<void> Finish(const Context& ctx);
  Result<void> SyncNowAndThen();
  TempFile& file();

  FileMaker& maker_;
  const Digest digest_;
  std::optional<TempFile> empty_;  // Until the first bytes decide; then one of
  std::optional<OwnFile> own_;     // these two.
  std::optional<ForeignFile> foreign_;
  int64_t decoded_ = 0;  // What the foreign frames decode to so far, and
  bool whole_ = true;    // whether none of them was cut.
  bool judged_ = false;  // Whether it is known that they save enough so far.
  bool broken_ = false;  // Rest failed.
  int64_t synced_ = 0;
};

}  // namespace casemate::store
