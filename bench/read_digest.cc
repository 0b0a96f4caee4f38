#include "bench/read_digest.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <latch>
#include <memory>
#include <string>
#include <thread>

#include "base/check.h"
#include "bench/corpus.h"
#include "digest/hasher.h"
#include "readpool/read_pool.h"
#include "work/pool.h"

namespace casemate::bench {
namespace {

using std::chrono::steady_clock;

constexpr auto kPause = std::chrono::microseconds(200);
constexpr size_t kPiece = 16 << 10;    // What a naive listener is told of.
constexpr size_t kBuffer = 128 << 10;  // The best for the floor arms, too.

enum class Listening { kNone, kSleeps, kSpins };

void Hear(Listening listening) {
  if (listening == Listening::kSleeps) std::this_thread::sleep_for(kPause);
  if (listening == Listening::kSpins) {
    const auto end = steady_clock::now() + kPause;
    while (steady_clock::now() < end) {
    }
  }
}

class Listener : public ProgressListener {
 public:
  explicit Listener(Listening listening) : listening_(listening) {}
  void OnProgress(const Progress&) override { Hear(listening_); }

 private:
  const Listening listening_;
};

// Files of one size, written once and never removed before the end, and as the
// listing of their directory describes them.
struct FileSet {
  std::string name;
  std::string folder;
  files::Root root;
  std::vector<readpool::FileRequest> files = {};

  std::string PathOf(const readpool::FileRequest& file) const {
    return folder + "/" + file.path;
  }
};

FileSet MakeFiles(const std::string& name, int count, size_t size) {
  const std::string folder = Scratch(DiskFolder());
  FileSet set{name, folder, std::move(files::Root::Open(folder).value())};
  std::string content(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    content[i] = static_cast<char>((i * 2654435761u) >> 13);
  }
  for (int i = 0; i < count; ++i) {
    const std::string file = std::to_string(i);
    std::memcpy(content.data(), &i, sizeof i);
    std::ofstream(folder + "/" + file) << content;
    set.files.push_back({file, set.root.StatPath(file).value()});
  }
  ::sync();
  return set;
}

int MustOpen(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  CASEMATE_CHECK(fd >= 0);
  return fd;
}

// Clean pages of this set leave the page cache.
void DropFromCache(const FileSet& set) {
  for (const auto& file : set.files) {
    const int fd = MustOpen(set.PathOf(file));
    CASEMATE_CHECK(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    ::close(fd);
  }
}

// What a naive design does with one file, its listener on the reading thread.
void ReadInline(const std::string& path, Listening listening) {
  thread_local std::vector<std::byte> buffer(kBuffer);
  thread_local digest::Hasher hasher(DigestFunction::kSha256);
  const size_t length = listening == Listening::kNone ? kBuffer : kPiece;
  const int fd = MustOpen(path);
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), length);
    CASEMATE_CHECK(got >= 0);
    if (got == 0) break;
    hasher.Update(std::span(buffer).first(static_cast<size_t>(got)));
    Hear(listening);
  }
  ::close(fd);
  (void)hasher.Finish();
}

// One call's share of a set.
using Share = std::vector<readpool::FileRequest>;

// Runs `call` for each share on a thread of its own, all at once, and says how
// long after that moment each was done.
std::vector<double> RunCalls(const std::vector<Share>& shares,
                             const std::function<void(const Share&)>& call) {
  std::vector<double> seconds(shares.size());
  steady_clock::time_point begin;
  std::barrier start(static_cast<std::ptrdiff_t>(shares.size()),
                     [&]() noexcept { begin = steady_clock::now(); });
  std::vector<std::jthread> callers;
  for (size_t i = 0; i < shares.size(); ++i) {
    callers.emplace_back([&, i] {
      start.arrive_and_wait();
      call(shares[i]);
      seconds[i] =
          std::chrono::duration<double>(steady_clock::now() - begin).count();
    });
  }
  callers.clear();
  return seconds;
}

// The arms, which live as long as all rows.
class Arms {
 public:
  Arms()
      : two_("two", 2), many_("many", 64), budget_(64 << 20), pool_(budget_) {}

  static constexpr int kCount = 4;
  static constexpr int kOurs = 0;
  static const char* Name(int arm) {
    static constexpr const char* kNames[kCount] = {
        "ours", "2 inline threads", "64 inline threads", "a thread per call"};
    return kNames[arm];
  }

  std::vector<double> Run(int arm, const FileSet& set,
                          const std::vector<Share>& shares,
                          Listening listening);

 private:
  void CallPool(const FileSet& set, const Share& share, Listening listening);
  static void CallThreads(work::Pool& threads, const FileSet& set,
                          const Share& share, Listening listening);

  work::Pool two_;
  work::Pool many_;
  work::Budget budget_;
  readpool::ReadPool pool_;
  readpool::ProgressDispatch dispatch_;
};

std::vector<double> Arms::Run(int arm, const FileSet& set,
                              const std::vector<Share>& shares,
                              Listening listening) {
  return RunCalls(shares, [&](const Share& share) {
    if (arm == kOurs) return CallPool(set, share, listening);
    if (arm < 3)
      return CallThreads(arm == 1 ? two_ : many_, set, share, listening);
    for (const auto& file : share) ReadInline(set.PathOf(file), listening);
  });
}

void Arms::CallPool(const FileSet& set, const Share& share,
                    Listening listening) {
  std::shared_ptr<readpool::ProgressFeed> feed;
  if (listening != Listening::kNone) {
    feed = dispatch_.NewFeed(std::make_shared<Listener>(listening));
  }
  const auto call = pool_.Start({}, set.root, {.keep_bytes = 0}, feed);
  Share requests = share;
  CASEMATE_CHECK(call->TryAdd(requests));
  while (call->outstanding() > 0) {
    const auto outcomes = call->Wait();
    CASEMATE_CHECK(outcomes.has_value());
    for (const readpool::Outcome& each : *outcomes) CASEMATE_CHECK(each.file);
  }
}

void Arms::CallThreads(work::Pool& threads, const FileSet& set,
                       const Share& share, Listening listening) {
  std::latch done(static_cast<std::ptrdiff_t>(share.size()));
  for (const auto& file : share) {
    threads.Run([&] {
      ReadInline(set.PathOf(file), listening);
      done.count_down();
    });
  }
  done.wait();
}

// Where calls are more than files, several read the same one.
std::vector<Share> ShareOut(const FileSet& set, size_t calls) {
  std::vector<Share> shares(calls);
  for (size_t i = 0; i < std::max(calls, set.files.size()); ++i) {
    shares[i % calls].push_back(set.files[i % set.files.size()]);
  }
  return shares;
}

double Percentile99(std::vector<double> values) {
  std::ranges::sort(values);
  const double rank = std::ceil(0.99 * static_cast<double>(values.size()));
  return values[static_cast<size_t>(rank) - 1];
}

struct Case {
  const FileSet& set;
  size_t calls;
  Listening listening = Listening::kNone;
  bool cold = false;

  std::string Name() const {
    static constexpr const char* kHow[] = {"", ", listener sleeps",
                                           ", listener spins"};
    return "digest " + set.name + ", " + std::to_string(calls) +
           (calls == 1 ? " call" : " calls") +
           kHow[static_cast<int>(listening)] + (cold ? ", cold" : "");
  }
};

// Ours against the fastest of the others: 1/0.95 of its time, 1.1 of its p99.
void SetTargets(RowResult& time, RowResult& p99) {
  const auto best = std::ranges::min_element(
      time.arms.begin() + 1, time.arms.end(), {},
      [](const ArmResult& arm) { return Median(arm.values); });
  time.targets = {{Arms::Name(Arms::kOurs), best->name, 1 / 0.95}};
  p99.targets = {{Arms::Name(Arms::kOurs), best->name, 1.1}};
}

void RunCase(Arms& arms, const Case& which, int rounds,
             std::vector<RowResult>& rows) {
  const std::vector<Share> shares = ShareOut(which.set, which.calls);
  RowResult time{which.Name(), "s", {}, {}};
  RowResult p99{which.Name() + ", p99", "s", {}, {}};
  for (int arm = 0; arm < Arms::kCount; ++arm) {
    time.arms.push_back({Arms::Name(arm), {}});
    p99.arms.push_back({Arms::Name(arm), {}});
  }
  for (int round = -1; round < rounds; ++round) {  // The first to warm up.
    for (int arm = 0; arm < Arms::kCount; ++arm) {
      if (which.cold) DropFromCache(which.set);
      const auto calls = arms.Run(arm, which.set, shares, which.listening);
      if (round < 0) continue;
      const auto at = static_cast<size_t>(arm);
      time.arms[at].values.push_back(std::ranges::max(calls));
      p99.arms[at].values.push_back(Percentile99(calls));
    }
  }
  SetTargets(time, p99);
  rows.push_back(std::move(time));
  rows.push_back(std::move(p99));
}

}  // namespace

std::vector<RowResult> ReadAndDigest(const Options& options) {
  return ReadAndDigestPart(options, "");
}

std::vector<RowResult> ReadAndDigestPart(const Options& options,
                                         std::string_view part) {
  const int scale = options.smoke ? 8 : 1;
  const FileSet small = MakeFiles("1000 × 64 KiB", 1000 / scale, 64 << 10);
  const FileSet medium = MakeFiles("100 × 1 MiB", 100 / scale, 1 << 20);
  const FileSet large =
      MakeFiles("8 × 32 MiB", 8, (32 << 20) / static_cast<size_t>(scale));
  Arms arms;
  std::vector<Case> cases;
  const auto add_plain = [&](bool cold) {
    for (const FileSet* set : {&small, &medium, &large}) {
      for (const size_t calls : std::initializer_list<size_t>{1, 4, 16, 64}) {
        cases.push_back({*set, calls, Listening::kNone, cold});
      }
    }
  };
  add_plain(false);
  for (const Listening listening : {Listening::kSleeps, Listening::kSpins}) {
    for (const FileSet* set : {&small, &medium}) {
      for (const size_t calls : std::initializer_list<size_t>{4, 16})
        cases.push_back({*set, calls, listening});
    }
  }
  add_plain(true);  // Last: the pages that it leaves cached are smaller.
  std::vector<RowResult> rows;
  for (const Case& each : cases) {
    if (each.Name().find(part) == std::string::npos) continue;
    RunCase(arms, each, options.rounds, rows);
  }
  return rows;
}

}  // namespace casemate::bench
