#include "store/disk_folder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/try.h"
#include "casemate/bytes.h"
#include "files/atomic_file.h"
#include "files/error.h"
#include "files/sys.h"
#include "store/disk_layout.h"
#include "store/file_lock.h"

namespace casemate::store {
namespace {

namespace sys = files::sys;

constexpr std::string_view kVersionLine = "casemate disk store 1\n";
constexpr std::string_view kNewVersion = "VERSION-";  // And a random number.
constexpr uint32_t kFolderMode = 0777;                // Both less the umask.
constexpr uint32_t kFileMode = 0444;

Error Refused(const std::string& path, const std::string& why) {
  return {Code::kFailedPrecondition,
          "open store " + files::Printable(path) + ": " + why};
}

// kNotFound if there is none.
Result<std::string> ReadVersion(const files::Root& root) {
  ASSIGN_OR_RETURN(const files::File file, root.OpenFile(kVersionFile));
  std::string line(2 * kVersionLine.size(), '\0');
  ASSIGN_OR_RETURN(const size_t size,
                   file.ReadAt(0, std::as_writable_bytes(std::span(line))));
  line.resize(size);
  return line;
}

// So that a mistyped path does no harm.
Result<void> RequireEmpty(const std::string& path,
                          const files::Directory& top) {
  ASSIGN_OR_RETURN(const auto entries, top.List({}));
  for (const files::Entry& entry : entries) {
    if (entry.name.starts_with(kNewVersion) || entry.name == kVersionFile) {
      continue;  // Another process is making the store.
    }
    return Refused(path, "it is not a store, and not empty: it contains \"" +
                             files::Printable(entry.name) + "\"");
  }
  return {};
}

// Several processes may do this at once; one of them wins.
Result<void> WriteVersion(const files::Directory& top, bool durable) {
  const std::string name = files::RandomName(kNewVersion);
  ASSIGN_OR_RETURN(files::OutputFile file, top.CreateFile(name, kFileMode));
  auto written = file.Write(AsBytes(kVersionLine));
  if (written && durable) written = file.Sync();
  if (written) written = file.Close();
  if (written)
    written = top.Rename(name, top, kVersionFile, files::Replace::kNo);
  if (!written) (void)top.Unlink(name);
  if (!written && written.error().code != Code::kAlreadyExists) return written;
  return {};
}

Result<void> CheckVersion(const std::string& path, const files::Root& root,
                          const files::Directory& top, bool durable) {
  auto version = ReadVersion(root);
  if (!version && version.error().code == Code::kNotFound) {
    const auto empty = RequireEmpty(path, top);
    if (empty) RETURN_IF_ERROR(WriteVersion(top, durable));
    version = ReadVersion(root);
    // What is in it may be a store that another process has just made: its
    // VERSION came first.
    if (!version && !empty) return empty.error();
  }
  if (!version) return std::move(version).error();
  if (*version == kVersionLine) return {};
  return Refused(
      path, "its layout \"" +
                files::Printable(version->substr(0, version->find('\n'))) +
                "\" is not known to this program, which knows \"" +
                std::string(kVersionLine.substr(0, kVersionLine.size() - 1)) +
                "\"");
}

// What the process that holds the lock has written.
std::string ServerAddress(const files::Descriptor& file) {
  char line[512];
  const ssize_t size = sys::PRead(file.get(), line, sizeof line, 0);
  const std::string_view text(line,
                              static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return std::string(text.substr(0, text.find('\n')));
}

Error Served(const std::string& path, const std::string& address) {
  if (address.empty()) {
    return Refused(path,
                   "it is served by a casemate server that is just "
                   "starting: use the server's address instead");
  }
  const bool is_unix = address.starts_with("unix:");
  return Refused(path, "it is served by a casemate server at " +
                           files::Printable(address) + ": use --store " +
                           (is_unix ? "" : "grpc://") +
                           files::Printable(address) + " instead");
}

Result<void> WriteAddress(const files::Descriptor& file,
                          const std::string& address) {
  const std::string line = address + "\n";
  const auto size = static_cast<ssize_t>(line.size());
  if (sys::FTruncate(file.get(), 0) == 0 &&
      sys::PWrite(file.get(), line.data(), line.size(), 0) == size) {
    return {};
  }
  return files::SystemError(errno, "write", kServerFile);
}

// A server holds it alone, all others hold it together.
Result<files::Descriptor> TakeServerLock(const std::string& path,
                                         const files::Directory& top,
                                         const std::string& address) {
  ASSIGN_OR_RETURN(files::Descriptor file, OpenLockFile(top, kServerFile));
  const LockMode mode =
      address.empty() ? LockMode::kShared : LockMode::kExclusive;
  ASSIGN_OR_RETURN(const bool locked, TryLock(file, mode));
  if (locked && !address.empty()) RETURN_IF_ERROR(WriteAddress(file, address));
  if (locked) return file;
  ASSIGN_OR_RETURN(const bool shared, TryLock(file, LockMode::kShared));
  if (!shared) return Served(path, ServerAddress(file));
  if (address.empty()) return file;  // The server has just gone.
  return Refused(path,
                 "another process has it open (push, pull, gc or the like), "
                 "and a server needs it alone: try again when that has ended");
}

Result<files::Descriptor> TakeLock(const std::string& path,
                                   const files::Directory& top) {
  ASSIGN_OR_RETURN(files::Descriptor lock, OpenLockFile(top, kLockFile));
  ASSIGN_OR_RETURN(const bool locked, TryLock(lock, LockMode::kShared));
  if (!locked) return Refused(path, "gc or verify is running in it");
  return lock;
}

// Whether it had to.
Result<bool> MakeMarker(const files::Directory& top) {
  auto file = top.CreateFile(kZstdMarker, kFileMode);
  if (!file && file.error().code == Code::kAlreadyExists) return false;
  if (!file) return std::move(file).error();
  RETURN_IF_ERROR(file->Close());
  return true;
}

Result<void> MakeFolders(const files::Directory& top, bool durable, bool zstd) {
  bool made = false;
  if (zstd) {
    ASSIGN_OR_RETURN(made, MakeMarker(top));
  }
  for (const char* const name : {kBlobs, kTemporary, kDamaged}) {
    auto result = top.MakeDirectory(name, kFolderMode);
    if (result) made = true;
    if (!result && result.error().code != Code::kAlreadyExists) return result;
  }
  if (made && durable) return top.SyncFilesystem();
  return {};
}

}  // namespace

Result<DiskFolder> OpenDiskFolder(const std::string& path,
                                  const DiskStoreOptions& options) {
  const bool durable = options.sync == DiskStoreOptions::Sync::kAlways;
  const bool zstd = options.at_rest == Encoding::kZstd;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    Error made = files::SystemError(error.value(), "make store folder", path);
    // A path that cannot be made is not an absent blob.
    if (made.code == Code::kNotFound) made.code = Code::kFailedPrecondition;
    return made;
  }
  ASSIGN_OR_RETURN(files::Root root, files::Root::Open(path));
  ASSIGN_OR_RETURN(files::Directory top, root.OpenDirectory(""));
  RETURN_IF_ERROR(CheckVersion(path, root, top, durable));
  ASSIGN_OR_RETURN(files::Descriptor server,
                   TakeServerLock(path, top, options.server));
  ASSIGN_OR_RETURN(files::Descriptor lock, TakeLock(path, top));
  RETURN_IF_ERROR(MakeFolders(top, durable, zstd));
  return DiskFolder{std::move(root), std::move(top), std::move(server),
                    std::move(lock)};
}

Result<void> LockAlone(const DiskFolder& folder) {
  ASSIGN_OR_RETURN(const bool alone,
                   TryLock(folder.lock, LockMode::kExclusive));
  if (alone) return {};
  RETURN_IF_ERROR(LockShared(folder));  // flock gave the shared one up.
  return Error{Code::kFailedPrecondition,
               "the store is in use by another process"};
}

Result<void> LockShared(const DiskFolder& folder) {
  return WaitLock(folder.lock, LockMode::kShared);
}

}  // namespace casemate::store
