#include "casemate/pull.h"

#include <utility>

#include "base/try.h"
#include "files/staging.h"
#include "transfer/materialiser.h"
#include "transfer/resources_state.h"
#include "tree/plan.h"

namespace casemate {
namespace {

using Existing = PullOptions::Existing;

// Whether `destination` has content of its own. An error if the options forbid
// what is there.
Result<bool> HasContent(const Context& ctx, const files::Destination& place,
                        const std::string& shown, Existing existing) {
  const auto stat = place.parent.StatEntry(place.name);
  if (!stat) {
    if (stat.error().code == Code::kNotFound) return false;
    return stat.error();
  }
  if (stat->kind != files::Kind::kDirectory) {
    return Error{Code::kAlreadyExists,
                 shown + " is a " + std::string(files::KindName(stat->kind)) +
                     "; only a directory can be replaced by a tree"};
  }
  ASSIGN_OR_RETURN(const files::Directory held,
                   place.parent.OpenDirectory(place.name));
  ASSIGN_OR_RETURN(const auto entries, held.List(ctx));
  if (!entries.empty() && existing == Existing::kRefuse) {
    return Error{Code::kAlreadyExists,
                 shown +
                     " exists and is not empty; --force replaces it, "
                     "--into merges into it"};
  }
  return !entries.empty();
}

// One pull, once it is known what and where to.
class Pulling {
 public:
  Pulling(const Context& ctx, Resources::State& shared, BlobStore& store,
          const tree::Plan& plan, const PullOptions& options)
      : ctx_(ctx),
        shared_(shared),
        store_(store),
        plan_(plan),
        options_(options),
        feed_(shared.progress.NewFeed(options.listener)) {}

  ~Pulling() { feed_->Finish(); }

  Result<PullResult> BuildAside(const files::Destination& place) {
    ASSIGN_OR_RETURN(files::Staging staging,
                     files::Staging::Create(ctx_, place));
    const auto target = transfer::MakeNewTreeTarget(staging.root());
    ASSIGN_OR_RETURN(PullResult result, Build(*target, /*merging=*/false));
    RETURN_IF_ERROR(SetRootMode(staging.root()));
    if (options_.fsync) RETURN_IF_ERROR(staging.Sync());
    RETURN_IF_ERROR(
        staging.Publish(ctx_, options_.existing == Existing::kReplace));
    if (options_.fsync) RETURN_IF_ERROR(staging.Sync());
    return result;
  }

  Result<PullResult> MergeInto(const std::string& directory) {
    ASSIGN_OR_RETURN(const files::Root root, files::Root::Open(directory));
    const auto target = transfer::MakeMergeTarget(root);
    ASSIGN_OR_RETURN(PullResult result, Build(*target, /*merging=*/true));
    if (options_.fsync) {
      ASSIGN_OR_RETURN(const files::Directory top, root.OpenDirectory(""));
      RETURN_IF_ERROR(top.SyncFilesystem());
    }
    return result;
  }

 private:
  Result<PullResult> Build(transfer::TreeTarget& target, bool merging) {
    transfer::Materialiser materialiser(plan_, store_, target,
                                        {.merging = merging,
                                         .safe_links = options_.safe_links,
                                         .preserve = options_.preserve});
    RETURN_IF_ERROR(
        materialiser.Build(ctx_, shared_.budget, shared_.pool, *feed_));
    PullResult result;
    result.failed = materialiser.TakeFailed();
    const tree::PlanTotals& totals = plan_.totals();
    result.files = totals.files;
    result.directories = totals.directories;
    result.symlinks = totals.symlinks;
    result.bytes = totals.bytes;
    result.bytes_fetched = materialiser.bytes_fetched();
    return result;
  }

  // The staging directory is private while it is being filled.
  Result<void> SetRootMode(const files::Root& root) {
    const auto& recorded = plan_.places().front().directory->properties;
    if (options_.preserve && recorded.mode) return {};
    ASSIGN_OR_RETURN(const files::Directory top, root.OpenDirectory(""));
    return top.SetMode(0755 & ~transfer::Umask());
  }

  const Context& ctx_;
  Resources::State& shared_;
  BlobStore& store_;
  const tree::Plan& plan_;
  const PullOptions& options_;
  const std::shared_ptr<readpool::ProgressFeed> feed_;
};

}  // namespace

Result<PullResult> Pull(const Context& ctx, Resources& resources,
                        BlobStore& store, const Digest& root,
                        const std::string& directory,
                        const PullOptions& options) {
  ASSIGN_OR_RETURN(const files::Destination place,
                   files::Destination::Resolve(directory));
  ASSIGN_OR_RETURN(const bool has_content,
                   HasContent(ctx, place, directory, options.existing));
  ASSIGN_OR_RETURN(const tree::Plan plan,
                   tree::Plan::Fetch(ctx, store, root,
                                     {.max_depth = options.max_depth,
                                      .max_entries = options.max_entries,
                                      .max_bytes = options.max_bytes}));
  Pulling pulling(ctx, resources.state(), store, plan, options);
  if (has_content && options.existing == Existing::kMerge) {
    return pulling.MergeInto(directory);
  }
  return pulling.BuildAside(place);
}

}  // namespace casemate
