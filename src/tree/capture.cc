#include "tree/capture.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/try.h"
#include "files/file_source.h"
#include "tree/inspector.h"
#include "tree/tree_builder.h"

namespace casemate::tree {
namespace {

// Files go to the readers in batches of about this size,
constexpr size_t kBatchFiles = 256;
constexpr int64_t kBatchBytes = 1 << 20;
// entries of a directory are looked at this many at a time,
constexpr size_t kStepEntries = 256;
// and the walk stays at most this far ahead of the readers, so that what it
// knows of files (paths can be megabytes long) stays small too.
constexpr size_t kMostFilesAhead = 8192;
constexpr int64_t kMostPathBytesAhead = 16 << 20;

// A large file is digested at most this often.
constexpr int kMostReads = 3;

using Entry = TreeBuilder::Entry;

uint64_t ToCookie(Entry entry) {
  return uint64_t{entry.directory} << 32 | entry.index;
}

Entry FromCookie(uint64_t cookie) {
  return {static_cast<uint32_t>(cookie >> 32), static_cast<uint32_t>(cookie)};
}

Error NotUtf8(std::string what) {
  return {Code::kInvalidArgument,
          std::move(what) + " is not UTF-8, which no tree can hold"};
}

}  // namespace

class Capture::State {
 public:
  State(const Context& ctx, const files::Root& root, readpool::ReadPool& pool,
        CaptureOptions options, std::shared_ptr<readpool::ProgressFeed> feed)
      : ctx_(ctx),
        root_(root),
        options_(std::move(options)),
        inspector_(root, {.filter = options_.filter,
                          .times_of_links = options_.record_properties,
                          .devices = options_.one_file_system}),
        feed_(std::move(feed)),
        call_(pool.Start(
            ctx, root,
            {.function = options_.function, .keep_bytes = options_.keep_bytes},
            feed_)),
        builder_(options_.function, [this](Blob blob, bool is_root) {
          OnFinished(std::move(blob), is_root);
        }) {}

  Result<std::optional<CaptureItem>> TryNext() {
    while (ready_next_ == ready_.size()) {
      ready_.clear();
      ready_next_ = 0;
      ASSIGN_OR_RETURN(const bool advanced, Advance());
      if (!advanced) return std::optional<CaptureItem>();
    }
    return std::optional(std::move(ready_[ready_next_++]));
  }

  Result<bool> WaitForReaders() {
    if (call_->outstanding() == 0) return false;
    ASSIGN_OR_RETURN(std::vector<readpool::Outcome> outcomes, call_->Wait());
    OnOutcomes(std::move(outcomes));
    return true;
  }

  Result<void> WaitForRoom();

  void Stored(uint64_t token) {
    CASEMATE_CHECK(large_.erase(token) == 1);
    ResolveFile(FromCookie(token));
  }

  void Failed(uint64_t token, Error error) {
    const auto large = large_.find(token);
    CASEMATE_CHECK(large != large_.end());
    FailFile(token, std::move(large->second.path), std::move(error));
  }

  void Reread(uint64_t token);

 private:
  // The directory being walked: the only descriptor held.
  struct Walk {
    files::Directory handle;
    std::string path;
    TreeBuilder::Identity identity;
    Properties properties;
    std::vector<files::Entry> entries;
    size_t next = 0;
    uint32_t directory = 0;  // In the builder.
  };

  // A large file that the consumer has been told of.
  struct Large {
    std::string path;
    int reads = 1;
  };

  // What a batch adds to the feed.
  struct Found {
    int64_t files;
    int64_t bytes;
  };

  // Moves the work on by one step, which may make items ready. False when that
  // takes readers or the consumer.
  Result<bool> Advance();

  // The walk.
  bool MayWalk();
  Result<void> WalkOn();
  Result<void> OpenRoot();
  Result<void> OpenNext();
  Result<Walk> OpenDirectory(std::string path);
  void LookOn();
  void Look(const files::Entry& entry);
  void Add(const std::string& name, std::string path, const files::Stat& stat);
  void AddDirectory(const std::string& name, std::string path);
  void AddSymlink(const std::string& name, std::string path,
                  const files::Stat& stat);

  // The readers.
  bool BatchIsFull() const {
    return batch_.size() >= kBatchFiles || batch_bytes_ >= kBatchBytes;
  }
  void Queue(readpool::FileRequest request);
  bool Submit();
  static Found FoundIn(const std::vector<readpool::FileRequest>& batch);
  void OnSubmitted(const Found& found);
  void OnOutcomes(std::vector<readpool::Outcome> outcomes);
  void OnDigest(uint64_t cookie, std::string path, readpool::FileDigest file);
  void ResolveFile(Entry file);
  void FailFile(uint64_t cookie, std::string path, Error error);

  void OnFinished(Blob blob, bool is_root);
  void Fail(std::string path, Error error) {
    ready_.emplace_back(FailedEntry{std::move(path), std::move(error)});
  }
  void Skip(std::string path, std::string_view reason) {
    ready_.emplace_back(SkippedEntry{std::move(path), std::string(reason)});
  }
  Properties PropertiesOf(const files::Stat& stat) const;

  const Context& ctx_;
  const files::Root& root_;
  const CaptureOptions options_;
  const Inspector inspector_;
  const std::shared_ptr<readpool::ProgressFeed> feed_;
  const std::unique_ptr<readpool::ReadCall> call_;
  TreeBuilder builder_;

  std::vector<CaptureItem> ready_;
  size_t ready_next_ = 0;
  Captured totals_;

  bool started_ = false;
  bool walked_ = false;  // All of the tree.
  uint64_t device_ = 0;  // Of the root.
  std::optional<Walk> walk_;
  std::vector<Entry> pending_;  // Directories yet to be walked.

  std::vector<readpool::FileRequest> batch_;  // Not yet with the readers.
  int64_t batch_bytes_ = 0;
  int64_t path_bytes_ahead_ = 0;  // Of all files not yet read.
  std::unordered_map<uint64_t, Large> large_;
};

Result<bool> Capture::State::Advance() {
  RETURN_IF_ERROR(ctx_.Check());
  if (MayWalk()) {
    RETURN_IF_ERROR(WalkOn());
    return true;
  }
  std::vector<readpool::Outcome> outcomes = call_->Take();
  if (outcomes.empty()) return false;
  OnOutcomes(std::move(outcomes));
  return true;
}

bool Capture::State::MayWalk() {
  const bool idle = !walk_ && call_->outstanding() < kBatchFiles / 4;
  if ((BatchIsFull() || walked_ || idle) && !Submit()) return false;
  return !walked_ && call_->outstanding() < kMostFilesAhead &&
         path_bytes_ahead_ < kMostPathBytesAhead;
}

// Opens a directory, or looks at some entries of the one that is open.
Result<void> Capture::State::WalkOn() {
  if (!started_) {
    RETURN_IF_ERROR(OpenRoot());
  } else if (!walk_) {
    RETURN_IF_ERROR(OpenNext());
  } else {
    LookOn();
  }
  walked_ = !walk_ && pending_.empty();
  if (walked_ && feed_) feed_->SetTotalsKnown();
  return {};
}

Result<void> Capture::State::OpenRoot() {
  ASSIGN_OR_RETURN(walk_, OpenDirectory(""));
  walk_->directory = builder_.OpenRoot(walk_->identity, walk_->properties);
  device_ = walk_->identity.device;
  started_ = true;
  return {};
}

Result<void> Capture::State::OpenNext() {
  const Entry entry = pending_.back();
  pending_.pop_back();
  const std::string path = builder_.PathOf(entry);
  Result<Walk> walk = OpenDirectory(path);
  if (walk && root_.links() == files::Links::kFollow &&
      builder_.IsWithin(entry.directory, walk->identity)) {
    walk = Error{Code::kFailedPrecondition,
                 "loop: it leads back to a directory above it"};
  }
  if (!walk) {
    RETURN_IF_ERROR(ctx_.Check());
    Fail(path, std::move(walk).error());
    builder_.DropDirectory(entry);
    return {};
  }
  walk_ = std::move(*walk);
  walk_->directory = builder_.Open(entry, walk_->identity, walk_->properties);
  return {};
}

Result<Capture::State::Walk> Capture::State::OpenDirectory(std::string path) {
  ASSIGN_OR_RETURN(files::Directory handle, root_.OpenDirectory(path));
  ASSIGN_OR_RETURN(const files::Stat stat, handle.StatSelf());
  ASSIGN_OR_RETURN(std::vector<files::Entry> entries, handle.List(ctx_));
  // In the order in which they will be encoded.
  std::ranges::sort(entries, {}, &files::Entry::name);
  return Walk{.handle = std::move(handle),
              .path = std::move(path),
              .identity = {stat.device, stat.inode},
              .properties = PropertiesOf(stat),
              .entries = std::move(entries)};
}

void Capture::State::LookOn() {
  const size_t end =
      std::min(walk_->next + kStepEntries, walk_->entries.size());
  while (walk_->next < end && !BatchIsFull()) {
    Look(walk_->entries[walk_->next++]);
  }
  if (walk_->next < walk_->entries.size()) return;
  const uint32_t directory = walk_->directory;
  walk_.reset();
  builder_.Close(directory);
}

void Capture::State::Look(const files::Entry& entry) {
  std::string path = files::Join(walk_->path, entry.name);
  auto stat = inspector_.Inspect(walk_->handle, entry, path);
  if (!stat) return;  // Excluded.
  if (!*stat) return Fail(std::move(path), std::move(*stat).error());
  if (!files::IsUtf8(entry.name)) {
    return Fail(std::move(path), NotUtf8("its name"));
  }
  Add(entry.name, std::move(path), **stat);
}

void Capture::State::Add(const std::string& name, std::string path,
                         const files::Stat& stat) {
  const bool holds_data = stat.kind == files::Kind::kRegular ||
                          stat.kind == files::Kind::kDirectory;
  if (options_.one_file_system && holds_data && stat.device != device_) {
    return Skip(std::move(path), "another file system");
  }
  switch (stat.kind) {
    case files::Kind::kRegular:
      return Queue({std::move(path), stat,
                    ToCookie(builder_.AddFile(walk_->directory, name))});
    case files::Kind::kDirectory: return AddDirectory(name, std::move(path));
    case files::Kind::kSymlink: return AddSymlink(name, std::move(path), stat);
    default: return Skip(std::move(path), files::KindName(stat.kind));
  }
}

void Capture::State::AddDirectory(const std::string& name, std::string path) {
  if (builder_.DepthOf(walk_->directory) >= options_.max_depth) {
    return Fail(std::move(path),
                {Code::kResourceExhausted,
                 "it is more than " + std::to_string(options_.max_depth) +
                     " directories deep"});
  }
  pending_.push_back(builder_.AddDirectory(walk_->directory, name));
}

void Capture::State::AddSymlink(const std::string& name, std::string path,
                                const files::Stat& stat) {
  auto target = walk_->handle.ReadLink(name);
  if (!target) return Fail(std::move(path), std::move(target).error());
  if (!files::IsUtf8(*target)) {
    return Fail(std::move(path), NotUtf8("the target of the link"));
  }
  SymlinkNode link{name, std::move(*target), {}};
  if (options_.record_properties) link.properties.mtime = stat.mtime;
  builder_.AddSymlink(walk_->directory, std::move(link));
  ++totals_.symlinks;
}

void Capture::State::Queue(readpool::FileRequest request) {
  const auto path_bytes = static_cast<int64_t>(request.path.size());
  path_bytes_ahead_ += path_bytes;
  batch_bytes_ +=
      path_bytes + std::min(request.expected.size, options_.keep_bytes);
  batch_.push_back(std::move(request));
}

// Gives the batch to the readers; false while they have no room for it.
bool Capture::State::Submit() {
  if (batch_.empty()) return true;
  const Found found = FoundIn(batch_);
  if (!call_->TryAdd(batch_)) return false;
  OnSubmitted(found);
  return true;
}

Result<void> Capture::State::WaitForRoom() {
  CASEMATE_CHECK(!batch_.empty());  // Else nobody would ever wake the consumer.
  const Found found = FoundIn(batch_);
  RETURN_IF_ERROR(call_->WaitAndAdd(batch_));
  OnSubmitted(found);
  return {};
}

Capture::State::Found Capture::State::FoundIn(
    const std::vector<readpool::FileRequest>& batch) {
  uint64_t bytes = 0;  // Sparse files of 8 EiB may overflow it, and shall.
  for (const auto& request : batch) {
    bytes += static_cast<uint64_t>(request.expected.size);
  }
  return {static_cast<int64_t>(batch.size()), static_cast<int64_t>(bytes)};
}

void Capture::State::OnSubmitted(const Found& found) {
  if (feed_) feed_->AddFound(found.files, found.bytes);
  batch_.clear();
  batch_bytes_ = 0;
}

void Capture::State::OnOutcomes(std::vector<readpool::Outcome> outcomes) {
  for (readpool::Outcome& outcome : outcomes) {
    path_bytes_ahead_ -= static_cast<int64_t>(outcome.path.size());
    if (outcome.file) {
      OnDigest(outcome.cookie, std::move(outcome.path),
               std::move(*outcome.file));
    } else {
      FailFile(outcome.cookie, std::move(outcome.path),
               std::move(outcome.file).error());
    }
  }
}

void Capture::State::OnDigest(uint64_t cookie, std::string path,
                              readpool::FileDigest file) {
  const Entry entry = FromCookie(cookie);
  FileNode& node = builder_.File(entry);
  node.digest = file.digest;
  node.executable = file.stat.executable();
  node.properties = PropertiesOf(file.stat);
  if (file.blob) {
    ready_.emplace_back(
        SmallBlob{std::move(*file.blob), std::move(file.lease)});
    if (!large_.empty()) large_.erase(cookie);  // It was large when first read.
    ResolveFile(entry);
    return;
  }
  large_.try_emplace(cookie, Large{.path = path});
  auto source = files::MakeFileSource(root_, path, file.stat);
  ready_.emplace_back(
      LargeFile{cookie, std::move(path), file.digest, std::move(source)});
}

void Capture::State::ResolveFile(Entry file) {
  ++totals_.files;
  totals_.bytes += builder_.File(file).digest.size();
  builder_.ResolveFile(file);
}

void Capture::State::FailFile(uint64_t cookie, std::string path, Error error) {
  Fail(std::move(path), std::move(error));
  large_.erase(cookie);
  builder_.DropFile(FromCookie(cookie));
}

void Capture::State::OnFinished(Blob blob, bool is_root) {
  ++totals_.directories;
  const Digest digest = blob.digest();
  ready_.emplace_back(SmallBlob{std::move(blob), work::Lease()});
  if (!is_root) return;
  totals_.root = digest;
  ready_.emplace_back(totals_);
}

Properties Capture::State::PropertiesOf(const files::Stat& stat) const {
  if (!options_.record_properties) return {};
  return {.mtime = stat.mtime, .mode = stat.mode & 0777};
}

void Capture::State::Reread(uint64_t token) {
  const auto found = large_.find(token);
  CASEMATE_CHECK(found != large_.end());
  Large& large = found->second;
  if (large.reads == kMostReads) {
    return Failed(
        token, {Code::kFailedPrecondition, "it changed each time it was read"});
  }
  auto stat = root_.StatPath(large.path);
  if (!stat) return Failed(token, std::move(stat).error());
  if (stat->kind != files::Kind::kRegular) {
    return Failed(
        token, {Code::kFailedPrecondition, "it is no longer a regular file"});
  }
  ++large.reads;
  Queue({large.path, *stat, token});
}

Capture::Capture(const Context& ctx, const files::Root& root,
                 readpool::ReadPool& pool, CaptureOptions options,
                 std::shared_ptr<readpool::ProgressFeed> feed)
    : state_(std::make_unique<State>(ctx, root, pool, std::move(options),
                                     std::move(feed))) {}

Capture::~Capture() = default;

Result<std::optional<CaptureItem>> Capture::TryNext() {
  return state_->TryNext();
}

Result<bool> Capture::WaitForReaders() { return state_->WaitForReaders(); }

Result<void> Capture::WaitForRoom() { return state_->WaitForRoom(); }

void Capture::Stored(uint64_t token) { state_->Stored(token); }

void Capture::Failed(uint64_t token, Error error) {
  state_->Failed(token, std::move(error));
}

void Capture::Reread(uint64_t token) { state_->Reread(token); }

}  // namespace casemate::tree
