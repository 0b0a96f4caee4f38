// Uploads: which are under way, and which were left and may be continued.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "casemate/digest.h"
#include "reapi/wire/resource_name.h"
#include "rpc/call.h"

namespace casemate::reapi {

// Uploads by their names: instance, UUID, form and digest together (R-080,
// D-11). The bytes themselves are the store's (BlobStore::StartWrite), which
// bounds what it keeps; this only knows under which id to look, for a bounded
// number of names. Safe from many threads; outlives its claims.
class Uploads {
 public:
  using Key = std::pair<std::string, Digest>;
  static Key KeyOf(const ResourceName& name);

  // One call's hold on a name, from its first message to its end. One thread at
  // a time, as its call.
  class Claim {
   public:
    ~Claim();  // After the writer's end, so that another can continue it.
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    // For StartWrite: what the upload is found under. Empty for a second one
    // of that name, which is an upload of its own and cannot be continued
    //
    std::string_view id() const {
      return first_ ? std::string_view(key_.first) : std::string_view();
    }

    // What QueryWriteStatus answers while this is under way.
    void SetCommitted(int64_t bytes) { committed_ = bytes; }

    // The store keeps something under id() when this ends.
    void Keep() { keep_ = true; }

    // Another call wants to continue this upload, and waits for its end.
    bool superseded() const { return superseded_; }

   private:
    friend class Uploads;
    Claim(Uploads& uploads, Key key, rpc::Waker wake)
        : uploads_(uploads), key_(std::move(key)), wake_(std::move(wake)) {}

    Uploads& uploads_;
    const Key key_;
    const rpc::Waker wake_;
    bool first_ = false;
    bool keep_ = false;
    std::atomic<int64_t> committed_ = 0;
    std::atomic<bool> superseded_ = false;
    std::vector<rpc::Waker> successors_;  // Under the table's mutex.
  };

  explicit Uploads(size_t max_left = 1024) : max_left_(max_left) {}
  ~Uploads();  // All claims have ended.

  // An upload from its beginning: always one's own. `wake` tells that it was
  // superseded.
  std::unique_ptr<Claim> Begin(const ResourceName& name, rpc::Waker wake)
      EXCLUDES(mutex_);

  // The hold on a name that has something to continue at `offset`, or null.
  // Whoever holds it and has committed so much is asked to let go, and `wake`
  // is called when it has: then try again.
  struct Continued {
    std::unique_ptr<Claim> claim;
    bool wait = false;
  };
  Continued Continue(const ResourceName& name, int64_t offset, rpc::Waker wake)
      EXCLUDES(mutex_);

  // Without asking anybody to let go: the hold on what was left, or how much
  // has been committed by who holds it; neither for an unknown name.
  struct Found {
    std::unique_ptr<Claim> claim;
    std::optional<int64_t> committed;
  };
  Found Look(const ResourceName& name) EXCLUDES(mutex_);

  size_t under_way() const EXCLUDES(mutex_);
  size_t left() const EXCLUDES(mutex_);

 private:
  using LeftList = std::list<Key>;  // Longest ago first.

  std::unique_ptr<Claim> Take(Key key, rpc::Waker wake) REQUIRES(mutex_);
  void End(Claim& claim) EXCLUDES(mutex_);
  void RememberLeft(const Key& key) REQUIRES(mutex_);

  const size_t max_left_;
  mutable base::Mutex mutex_;
  std::map<Key, Claim*> active_ GUARDED_BY(mutex_);
  LeftList left_ GUARDED_BY(mutex_);
  std::map<Key, LeftList::iterator> left_by_key_ GUARDED_BY(mutex_);
};

}  // namespace casemate::reapi
