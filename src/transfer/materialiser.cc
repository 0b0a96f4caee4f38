#include "transfer/materialiser.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "transfer/safe_link.h"

namespace casemate::transfer {
namespace {

constexpr int64_t kSmallBytes = 1 << 20;
constexpr int64_t kBatchBytes = 3 << 20;
constexpr int64_t kStreamBuffer = 256 << 10;
constexpr size_t kBatchContents = 512;
constexpr int64_t kContentOverhead = 256;  // Of each, while in flight.
constexpr size_t kStreamTargets = 16;      // Open files of one stream.

// What one task may hold. A small budget is shared by several tasks all the
// same, and part of it belongs to the readers for good.
struct Limits {
  int64_t small;  // Larger contents stream.
  int64_t batch;  // Of contents in one GetMany, with their overhead.
  int64_t stream;

  explicit Limits(const work::Budget& budget)
      : small(std::min(kSmallBytes, budget.capacity() / 8)),
        batch(std::min(kBatchBytes, budget.capacity() / 4)),
        stream(std::min(kStreamBuffer, budget.capacity() / 16)) {}
};

// The next contents that are fetched together, and what they cost. At least
// one; one that is not small is alone.
std::span<const tree::Plan::Content> NextBatch(
    std::span<const tree::Plan::Content> contents, const Limits& limits,
    int64_t& cost) {
  cost = 0;
  size_t count = 0;
  while (count < contents.size() && count < kBatchContents) {
    const int64_t size = contents[count].digest.size();
    const int64_t more = size + kContentOverhead;
    if (size > limits.small || cost + more > limits.batch) break;
    cost += more;
    ++count;
  }
  if (count == 0) cost = limits.stream;
  return contents.first(std::max<size_t>(count, 1));
}

}  // namespace

Materialiser::Materialiser(const tree::Plan& plan, BlobStore& store,
                           TreeTarget& target, Options options)
    : plan_(plan),
      store_(store),
      target_(target),
      options_(options),
      unmade_(plan.places().size(), false) {}

Result<void> Materialiser::Build(const Context& ctx, work::Budget& budget,
                                 work::Pool& pool,
                                 readpool::ProgressFeed& feed) {
  feed.AddFound(plan_.totals().files, plan_.totals().bytes);
  feed.SetTotalsKnown();
  RETURN_IF_ERROR(MakeDirectories(ctx));
  RETURN_IF_ERROR(FetchContents(ctx, budget, pool, feed));
  RETURN_IF_ERROR(MakeLinks(ctx));
  return options_.preserve ? RestoreDirectories(ctx) : Result<void>();
}

Result<void> Materialiser::MakeDirectories(const Context& ctx) {
  const auto& places = plan_.places();
  for (uint32_t i = 1; i < places.size(); ++i) {
    RETURN_IF_ERROR(ctx.Check());
    if (unmade_[places[i].parent]) {
      unmade_[i] = true;
      continue;
    }
    const std::string path = plan_.PathOf(i);
    auto made = target_.MakeDirectory(path);
    unmade_[i] = !made;
    RETURN_IF_ERROR(Settle(path, std::move(made)));
  }
  return {};
}

Result<void> Materialiser::FetchContents(const Context& ctx,
                                         work::Budget& budget, work::Pool& pool,
                                         readpool::ProgressFeed& feed) {
  const Limits limits(budget);
  work::TaskGroup group(ctx, pool, pool.threads());
  for (Contents rest = plan_.contents(); !rest.empty();) {
    int64_t cost = 0;
    const Contents batch = NextBatch(rest, limits, cost);
    rest = rest.subspan(batch.size());
    const bool large = batch.front().digest.size() > limits.small;
    auto lease = budget.Acquire(group.context(), cost);
    if (!lease) break;  // The group's first error says why.
    // A std::function must be copyable, a lease is not.
    auto held = std::make_shared<work::Lease>(std::move(*lease));
    auto added =
        group.Add([this, batch, large, held, &feed](const Context& inner) {
          auto done =
              large ? FetchLarge(inner, batch.front(), held->amount(), feed)
                    : FetchSmall(inner, batch, feed);
          held->Release();
          return done;
        });
    if (!added) break;
  }
  return group.Wait();
}

Result<void> Materialiser::FetchSmall(const Context& ctx, Contents contents,
                                      readpool::ProgressFeed& feed) {
  std::vector<Digest> digests;
  digests.reserve(contents.size());
  for (const auto& content : contents) digests.push_back(content.digest);
  auto blobs = store_.GetMany(ctx, digests);
  for (size_t i = 0; i < contents.size(); ++i) {
    RETURN_IF_ERROR(ctx.Check());
    for (const tree::Plan::Target& target : contents[i].targets) {
      const auto path = PathOf(target);
      if (!path) continue;
      if (!blobs[i]) return Wrap(blobs[i].error(), "fetch " + *path);
      RETURN_IF_ERROR(Settle(
          *path,
          target_.WriteFile(*path, ModeOf(target), blobs[i]->bytes().span())));
    }
    blobs[i] = Blob();
    Count(contents[i], feed);
  }
  return {};
}

Result<void> Materialiser::FetchLarge(const Context& ctx,
                                      const tree::Plan::Content& content,
                                      int64_t buffer_bytes,
                                      readpool::ProgressFeed& feed) {
  std::vector<std::byte> buffer(static_cast<size_t>(buffer_bytes));
  for (auto rest = content.targets; !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), kStreamTargets));
    rest = rest.subspan(some.size());
    RETURN_IF_ERROR(Stream(ctx, content.digest, some, buffer));
  }
  Count(content, feed);
  return {};
}

Result<void> Materialiser::Stream(const Context& ctx, const Digest& digest,
                                  std::span<const tree::Plan::Target> targets,
                                  std::span<std::byte> buffer) {
  struct Open {
    std::string path;
    std::unique_ptr<TargetFile> file;
  };
  std::vector<Open> files;
  for (const tree::Plan::Target& target : targets) {
    const auto path = PathOf(target);
    if (!path) continue;
    auto file = target_.CreateFile(*path, ModeOf(target));
    if (file) {
      files.push_back({*path, std::move(*file)});
    } else {
      RETURN_IF_ERROR(Settle(*path, file.error()));
    }
  }
  if (files.empty()) return {};

  const auto fetch = [&]() -> Result<void> {
    ASSIGN_OR_RETURN(auto reader, store_.Get(ctx, digest, 0));
    for (;;) {
      ASSIGN_OR_RETURN(const size_t count, reader->Read(ctx, buffer));
      if (count == 0) return {};
      for (const Open& open : files) {
        RETURN_IF_ERROR(open.file->Write(buffer.first(count)));
      }
    }
  };
  if (auto fetched = fetch(); !fetched) {
    return Wrap(fetched.error(), "fetch " + files.front().path);
  }
  for (const Open& open : files) {
    RETURN_IF_ERROR(Settle(open.path, open.file->Finish()));
  }
  return {};
}

Result<void> Materialiser::MakeLinks(const Context& ctx) {
  const auto& places = plan_.places();
  std::vector<int> depths(places.size(), 0);
  for (uint32_t i = 0; i < places.size(); ++i) {
    if (i > 0) depths[i] = depths[places[i].parent] + 1;
    if (unmade_[i] || places[i].directory->symlinks.empty()) continue;
    const std::string parent = plan_.PathOf(i);
    for (const tree::SymlinkNode& link : places[i].directory->symlinks) {
      RETURN_IF_ERROR(ctx.Check());
      const std::string path = files::Join(parent, link.name);
      if (options_.safe_links) {
        if (auto inside = CheckLinkStaysInside(depths[i], link.target);
            !inside) {
          base::MutexLock lock(mutex_);
          failed_.push_back({path, inside.error()});
          continue;
        }
      }
      RETURN_IF_ERROR(Settle(path, target_.MakeSymlink(path, link.target)));
    }
  }
  return {};
}

// Children before parents: a parent's time comes after all changes in it.
Result<void> Materialiser::RestoreDirectories(const Context& ctx) {
  const auto& places = plan_.places();
  for (auto i = static_cast<uint32_t>(places.size()); i-- > 0;) {
    RETURN_IF_ERROR(ctx.Check());
    const tree::Properties& recorded = places[i].directory->properties;
    if (unmade_[i] || recorded.empty()) continue;
    RETURN_IF_ERROR(target_.RestoreDirectory(plan_.PathOf(i), recorded));
  }
  return {};
}

std::optional<std::string> Materialiser::PathOf(
    const tree::Plan::Target& target) {
  if (unmade_[target.place]) return std::nullopt;
  const auto& files = plan_.places()[target.place].directory->files;
  return files::Join(plan_.PathOf(target.place), files[target.index].name);
}

EntryMode Materialiser::ModeOf(const tree::Plan::Target& target) const {
  const tree::FileNode& node =
      plan_.places()[target.place].directory->files[target.index];
  return {node.executable,
          options_.preserve ? node.properties : tree::Properties()};
}

Result<void> Materialiser::Settle(const std::string& path, Result<void> made) {
  if (made) return {};
  if (!options_.merging || made.error().code != Code::kAlreadyExists) {
    return made;
  }
  base::MutexLock lock(mutex_);
  failed_.push_back({path, made.error()});
  return {};
}

void Materialiser::Count(const tree::Plan::Content& content,
                         readpool::ProgressFeed& feed) {
  const auto count = static_cast<int64_t>(content.targets.size());
  const int64_t size = content.digest.size();
  feed.AddDone(count, count * size);
  feed.AddTransferred(size);
  base::MutexLock lock(mutex_);
  bytes_fetched_ += size;
}

std::vector<EntryError> Materialiser::TakeFailed() {
  base::MutexLock lock(mutex_);
  return std::exchange(failed_, {});
}

int64_t Materialiser::bytes_fetched() const {
  base::MutexLock lock(mutex_);
  return bytes_fetched_;
}

}  // namespace casemate::transfer
