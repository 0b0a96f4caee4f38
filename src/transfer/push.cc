#include "casemate/push.h"

#include <utility>
#include <variant>

#include "base/try.h"
#include "files/root.h"
#include "transfer/resources_state.h"
#include "transfer/uploader.h"
#include "tree/capture.h"

namespace casemate {
namespace {

// One push, on its caller's thread: it takes what the capture has ready and
// gives it to the uploader, and waits for readers or uploads only when neither
// has anything for it.
class Pushing {
 public:
  Pushing(const Context& ctx, tree::Capture& capture,
          transfer::Uploader& uploader)
      : ctx_(ctx), capture_(capture), uploader_(uploader) {}

  Result<PushResult> Run() {
    auto done = TakeAll();
    auto finished = uploader_.Finish();
    RETURN_IF_ERROR(ctx_.Check());
    RETURN_IF_ERROR(
        finished);  // An upload's error is the cause, if there is one.
    RETURN_IF_ERROR(done);
    const auto totals = uploader_.totals();
    result_.blobs_stored = totals.blobs;
    result_.bytes_stored = totals.bytes;
    return std::move(result_);
  }

 private:
  Result<void> TakeAll() {
    while (!captured_) {
      ASSIGN_OR_RETURN(auto item, capture_.TryNext());
      if (item) {
        RETURN_IF_ERROR(
            std::visit([this](auto&& each) { return Take(std::move(each)); },
                       std::move(*item)));
      } else {
        RETURN_IF_ERROR(WaitForMore());
      }
    }
    return {};
  }

  Result<void> WaitForMore() {
    RETURN_IF_ERROR(uploader_.FlushIfFree());
    if (SettleLargeFiles()) return {};
    ASSIGN_OR_RETURN(const bool reading, capture_.WaitForReaders());
    if (reading) return {};
    ASSIGN_OR_RETURN(const bool ended, uploader_.WaitForProgress());
    if (SettleLargeFiles() || ended) return {};
    return capture_.WaitForRoom();
  }

  bool SettleLargeFiles() {
    const auto all = uploader_.TakeSettled();
    for (const transfer::Settled& each : all) {
      switch (each.end) {
        case transfer::Settled::End::kStored:
          capture_.Stored(each.token);
          break;
        case transfer::Settled::End::kChanged:
          capture_.Reread(each.token);
          break;
        case transfer::Settled::End::kFailed:
          capture_.Failed(each.token, each.error);
          break;
      }
    }
    return !all.empty();
  }

  Result<void> Take(tree::SmallBlob item) {
    return uploader_.Add(std::move(item));
  }
  Result<void> Take(tree::LargeFile item) {
    return uploader_.Add(std::move(item));
  }
  Result<void> Take(tree::FailedEntry item) {
    result_.failed.push_back({std::move(item.path), std::move(item.error)});
    return {};
  }
  Result<void> Take(tree::SkippedEntry item) {
    result_.skipped.push_back({std::move(item.path), std::move(item.reason)});
    return {};
  }
  Result<void> Take(tree::Captured item) {
    captured_ = true;
    result_.root = item.root;
    result_.files = item.files;
    result_.directories = item.directories;
    result_.symlinks = item.symlinks;
    result_.bytes = item.bytes;
    return {};
  }

  const Context& ctx_;
  tree::Capture& capture_;
  transfer::Uploader& uploader_;
  PushResult result_;
  bool captured_ = false;
};

Result<tree::Filter> MakeFilter(const std::vector<PathRule>& rules) {
  std::vector<tree::Filter::Rule> made;
  for (const PathRule& rule : rules) {
    made.push_back({rule.include, rule.pattern});
  }
  return tree::Filter::Make(std::move(made));
}

}  // namespace

Result<PushResult> Push(const Context& ctx, Resources& resources,
                        BlobStore& store, const std::string& directory,
                        const PushOptions& options) {
  Resources::State& shared = resources.state();
  tree::CaptureOptions capture_options{
      .function = options.function,
      .filter = {},
      .max_depth = options.max_depth,
      .one_file_system = options.one_file_system,
      .record_properties = options.preserve,
  };
  ASSIGN_OR_RETURN(capture_options.filter, MakeFilter(options.rules));
  ASSIGN_OR_RETURN(
      const files::Root root,
      files::Root::Open(directory, {.links = options.follow_symlinks
                                                 ? files::Links::kFollow
                                                 : files::Links::kRefuse}));
  const auto feed = shared.progress.NewFeed(options.listener);

  tree::Capture capture(ctx, root, shared.readers, std::move(capture_options),
                        feed);
  transfer::Uploader uploader(
      ctx, shared.pool, store, feed,
      {.width = shared.pool.threads(), .dry_run = options.dry_run});
  auto result = Pushing(ctx, capture, uploader).Run();
  feed->Finish();
  return result;
}

}  // namespace casemate
