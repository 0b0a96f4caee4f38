// A directory built aside, then renamed into place in one step.
#pragma once

#include <string>

#include "casemate/context.h"
#include "files/root.h"

namespace casemate::files {

// Where the operator wants a directory: its held parent and its name there. A
// link at the end of the operator's path is resolved, as the operator's own.
struct Destination {
  Directory parent;
  std::string name;

  // kNotFound if the parent does not exist, kFailedPrecondition for "/" or a
  // dangling link.
  static Result<Destination> Resolve(const std::string& path);
};

// A new directory ".casemate-staging-…" beside the destination, locked by flock
// while its process lives. Its mode is 0700 until somebody sets another. Not
// published, it removes itself and all in it. The Destination must outlive it.
class Staging {
 public:
  // Also removes staging directories beside it whose processes are dead.
  static Result<Staging> Create(const Context& ctx,
                                const Destination& destination);

  Staging(Staging&&) noexcept;
  Staging& operator=(Staging&&) noexcept;
  ~Staging();

  const Root& root() const { return root_; }

  // Renames the directory to the destination's name, which must be absent or
  // an empty directory (kAlreadyExists). With `replace`, an existing directory
  // changes places with it atomically and is then removed; if it cannot be, it
  // stays beside it for the next Create to remove.
  Result<void> Publish(const Context& ctx, bool replace);

  // Syncs the filesystem it lies on: content first, before Publish; or the
  // rename itself, after.
  Result<void> Sync() const;

 private:
  Staging(const Destination& destination, std::string name, Directory held,
          Root root);

  Result<void> Appear();
  Result<void> Exchange(const Context& ctx);

  const Destination* destination_;
  std::string name_;  // Empty once published.
  Directory held_;    // Carries the lock.
  Root root_;
};

}  // namespace casemate::files
