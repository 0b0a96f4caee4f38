#include "files/staging.h"

#include <sys/file.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/try.h"
#include "files/atomic_file.h"
#include "files/directory_stream.h"
#include "files/error.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

constexpr std::string_view kPrefix = ".casemate-staging-";

// Cleaners of other processes may take a new directory before it is locked.
constexpr int kMostTries = 100;

// kUnavailable if somebody else has it.
Result<void> Lock(const Directory& directory, std::string_view name) {
  if (sys::Flock(directory.descriptor().get(), LOCK_EX | LOCK_NB) == 0) {
    return {};
  }
  if (errno == EWOULDBLOCK) return Error{Code::kUnavailable, "is locked"};
  return SystemError(errno, "lock", name);
}

// Whether `held` still goes by `name`.
bool IsStill(const Directory& parent, std::string_view name,
             const Directory& held) {
  const auto named = parent.StatEntry(name);
  const auto self = held.StatSelf();
  return named && self && SameFile(*named, *self);
}

Result<void> RemoveIfStale(const Context& ctx, const Directory& parent,
                           std::string_view name) {
  ASSIGN_OR_RETURN(const Directory held, parent.OpenDirectory(name));
  RETURN_IF_ERROR(Lock(held, name));
  if (!IsStill(parent, name, held)) return {};
  return parent.RemoveTree(ctx, name);
}

// As far as it can be done; leftovers are no reason not to begin.
void RemoveStale(const Context& ctx, const Directory& parent) {
  DirectoryStream stream(parent);
  for (;;) {
    const auto item = stream.Next();
    if (!item || !*item || !ctx.Check()) return;
    const std::string_view name = (*item)->name;
    if (!name.starts_with(kPrefix)) continue;
    const auto removed = RemoveIfStale(ctx, parent, name);
    if (!removed && removed.error().code != Code::kUnavailable) {
      base::Log(base::LogLevel::kDebug,
                "cannot clean up: " + removed.error().message);
    }
  }
}

// A new directory under a new name, held and locked; nullopt if a cleaner was
// quicker.
Result<std::optional<Directory>> TryCreate(const Directory& parent,
                                           const std::string& name) {
  RETURN_IF_ERROR(parent.MakeDirectory(name, 0700));
  auto held = parent.OpenDirectory(name);
  if (!held && held.error().code == Code::kNotFound) {
    return std::optional<Directory>();
  }
  auto locked = held ? Lock(*held, name) : Result<void>(held.error());
  if (!locked && locked.error().code == Code::kUnavailable) {
    return std::optional<Directory>();
  }
  if (locked && IsStill(parent, name, *held)) {
    return std::optional<Directory>(std::move(*held));
  }
  (void)parent.RemoveDirectory(name);
  if (!locked) return locked.error();
  return std::optional<Directory>();
}

}  // namespace

Result<Staging> Staging::Create(const Context& ctx,
                                const Destination& destination) {
  RemoveStale(ctx, destination.parent);
  for (int tries = 0; tries < kMostTries; ++tries) {
    RETURN_IF_ERROR(ctx.Check());
    std::string name = RandomName(kPrefix);
    ASSIGN_OR_RETURN(auto held, TryCreate(destination.parent, name));
    if (!held) continue;
    auto root = Root::At(*held);
    if (!root) {
      (void)destination.parent.RemoveDirectory(name);
      return root.error();
    }
    return Staging(destination, std::move(name), std::move(*held),
                   std::move(*root));
  }
  return Error{Code::kUnavailable,
               "make a staging directory: others keep removing it"};
}

Staging::Staging(const Destination& destination, std::string name,
                 Directory held, Root root)
    : destination_(&destination),
      name_(std::move(name)),
      held_(std::move(held)),
      root_(std::move(root)) {}

Staging::Staging(Staging&& other) noexcept
    : destination_(other.destination_),
      name_(std::exchange(other.name_, {})),
      held_(std::move(other.held_)),
      root_(std::move(other.root_)) {}

Staging& Staging::operator=(Staging&& other) noexcept {
  std::swap(destination_, other.destination_);
  std::swap(name_, other.name_);
  std::swap(held_, other.held_);
  std::swap(root_, other.root_);
  return *this;
}

Staging::~Staging() {
  if (!name_.empty()) (void)destination_->parent.RemoveTree({}, name_);
}

Result<void> Staging::Publish(const Context& ctx, bool replace) {
  RETURN_IF_ERROR(ctx.Check());
  const auto there = destination_->parent.StatEntry(destination_->name);
  if (!there && there.error().code != Code::kNotFound) return there.error();
  if (there && there->kind != Kind::kDirectory) {
    return Error{Code::kAlreadyExists,
                 "publish " + Printable(destination_->name) + ": is a " +
                     std::string(KindName(there->kind)) + ", not a directory"};
  }
  return there && replace ? Exchange(ctx) : Appear();
}

// rename itself refuses whatever is not an empty directory.
Result<void> Staging::Appear() {
  RETURN_IF_ERROR(destination_->parent.Rename(
      name_, destination_->parent, destination_->name, Replace::kYes));
  name_.clear();
  return {};
}

Result<void> Staging::Exchange(const Context& ctx) {
  const Directory& parent = destination_->parent;
  // The lock keeps others from cleaning up what we are about to remove. If it
  // cannot be had, they may help.
  const auto old = parent.OpenDirectory(destination_->name);
  if (old) (void)Lock(*old, destination_->name);
  RETURN_IF_ERROR(
      parent.Rename(name_, parent, destination_->name, Replace::kExchange));
  const std::string leftover = std::exchange(name_, {});
  if (auto ok = parent.RemoveTree(ctx, leftover); !ok) {
    base::Log(base::LogLevel::kWarning,
              "the replaced directory stays, until the next time, as " +
                  leftover + ": " + ok.error().message);
  }
  return {};
}

Result<void> Staging::Sync() const { return held_.SyncFilesystem(); }

}  // namespace casemate::files
