#include "bench/floor.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "bench/corpus.h"

namespace casemate::bench {
namespace {

constexpr size_t kGroup = 250;

// A context used again and again, as anybody would after a first profile.
class Sha256 {
 public:
  void Hash(const void* data, size_t size) {
    unsigned char hash[32];
    CASEMATE_CHECK(EVP_DigestInit_ex2(context_.get(), type_, nullptr) == 1);
    CASEMATE_CHECK(EVP_DigestUpdate(context_.get(), data, size) == 1);
    CASEMATE_CHECK(EVP_DigestFinal_ex(context_.get(), hash, nullptr) == 1);
  }

 private:
  EVP_MD* type_ = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{
      EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

// Directories found and not yet walked. Next gives none once all are walked.
class Pending {
 public:
  explicit Pending(std::string first) : directories_{std::move(first)} {}

  void Add(std::string directory) {
    std::lock_guard lock(mutex_);
    directories_.push_back(std::move(directory));
    changed_.notify_one();
  }

  bool Next(std::string& directory, bool finished_one) {
    std::unique_lock lock(mutex_);
    if (finished_one) --walking_;
    changed_.wait(lock, [&] { return !directories_.empty() || walking_ == 0; });
    if (directories_.empty()) {
      changed_.notify_all();
      return false;
    }
    directory = std::move(directories_.back());
    directories_.pop_back();
    ++walking_;
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> directories_;
  int walking_ = 0;
};

void ReadHash(int directory, const char* name, std::vector<char>& buffer,
              Sha256& sha) {
  const int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
  struct stat stat;
  CASEMATE_CHECK(fd >= 0 && fstat(fd, &stat) == 0);
  const auto size = static_cast<size_t>(stat.st_size);
  if (buffer.size() < size) buffer.resize(size);
  CASEMATE_CHECK(read(fd, buffer.data(), size) == stat.st_size);
  close(fd);
  sha.Hash(buffer.data(), size);
}

void WalkOne(const std::string& path, Pending& pending,
             std::vector<char>& buffer, Sha256& sha) {
  DIR* const directory = opendir(path.c_str());
  CASEMATE_CHECK(directory != nullptr);
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    if (entry->d_type == DT_DIR) {
      pending.Add(path + "/" + entry->d_name);
    } else {
      ReadHash(dirfd(directory), entry->d_name, buffer, sha);
    }
  }
  closedir(directory);
}

void OnThreads(int count, const std::function<void(int)>& work) {
  std::vector<std::jthread> threads;
  for (int i = 1; i < count; ++i) threads.emplace_back(work, i);
  work(0);
}

void WriteFile(const std::string& path, const std::string& content) {
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  CASEMATE_CHECK(fd >= 0);
  CASEMATE_CHECK(write(fd, content.data(), content.size()) ==
                 static_cast<ssize_t>(content.size()));
  CASEMATE_CHECK(close(fd) == 0);
}

}  // namespace

void WalkReadHash(const std::string& tree) {
  Pending pending(tree);
  OnThreads(2, [&](int) {
    Sha256 sha;
    std::vector<char> buffer(1 << 20);
    std::string directory;
    bool finished_one = false;
    while (pending.Next(directory, finished_one)) {
      WalkOne(directory, pending, buffer, sha);
      finished_one = true;
    }
  });
}

Contents ReadAll(const std::string& tree) {
  Contents contents;
  for (const std::string& path : FilesBelow(tree)) {
    std::ifstream file(path, std::ios::binary);
    contents.emplace_back(
        path.substr(tree.size() + 1),
        std::string(std::istreambuf_iterator<char>(file), {}));
  }
  return contents;
}

void WriteDurably(const Contents& contents, const std::string& folder,
                  int threads) {
  std::filesystem::create_directory(folder + "/temporary");
  std::filesystem::create_directory(folder + "/final");
  const int disk = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::atomic<size_t> next = 0;
  OnThreads(threads, [&](int) {
    for (size_t begin; (begin = next.fetch_add(kGroup)) < contents.size();) {
      const size_t end = std::min(begin + kGroup, contents.size());
      for (size_t i = begin; i < end; ++i) {
        WriteFile(folder + "/temporary/" + std::to_string(i),
                  contents[i].second);
      }
      CASEMATE_CHECK(syncfs(disk) == 0);
      for (size_t i = begin; i < end; ++i) {
        const std::string name = std::to_string(i);
        CASEMATE_CHECK(rename((folder + "/temporary/" + name).c_str(),
                              (folder + "/final/" + name).c_str()) == 0);
      }
      CASEMATE_CHECK(syncfs(disk) == 0);
    }
  });
  close(disk);
}

void CreateWriteHash(const Contents& contents, const std::string& tree) {
  for (const auto& [path, content] : contents) {
    const size_t slash = path.rfind('/');
    if (slash == path.npos) continue;
    std::filesystem::create_directories(tree + "/" + path.substr(0, slash));
  }
  std::atomic<size_t> next = 0;
  OnThreads(2, [&](int) {
    Sha256 sha;
    for (size_t i; (i = next.fetch_add(1)) < contents.size();) {
      WriteFile(tree + "/" + contents[i].first, contents[i].second);
      sha.Hash(contents[i].second.data(), contents[i].second.size());
    }
  });
}

}  // namespace casemate::bench
