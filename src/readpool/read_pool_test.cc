#include "readpool/read_pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <latch>
#include <map>
#include <thread>

#include "digest/hasher.h"
#include "files/sys.h"
#include "testing/temp_dir.h"

namespace casemate::readpool {
namespace {

using files::sys::Call;
using files::sys::FaultInjector;
using testing::WriteFile;

constexpr int64_t kMiB = 1 << 20;

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& each :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

Digest DigestOf(const std::string& content) {
  return digest::Hash(DigestFunction::kSha256, AsBytes(content));
}

std::string Content(size_t size, int seed = 0) {
  std::string content(size, 'x');
  for (size_t i = 0; i < size; i += 1000) {
    content[i] = static_cast<char>(i / 1000 + static_cast<size_t>(seed));
  }
  return content;
}

// The name of the file that a system call works on.
std::string NameOf(const Call& call) {
  std::error_code none;
  return std::filesystem::read_symlink(
             "/proc/self/fd/" + std::to_string(call.fd), none)
      .filename();
}

bool IsRead(const Call& call) {
  return call.name == "preadv2" || call.name == "pread";
}

bool IsOpen(const Call& call) {
  return call.name == "openat" || call.name == "openat2";
}

bool IsOpenOf(const Call& call, const std::string& name) {
  return IsOpen(call) && call.path == name;
}

// Makes it seem that nothing of these files is in the page cache.
files::sys::FaultPlan Cold(std::function<bool(const std::string&)> which) {
  return {.nth = 1,
          .error = EAGAIN,
          .for_good = true,
          .counts = [which](const Call& call) {
            return call.name == "preadv2" && which(NameOf(call));
          }};
}

bool Every(const std::string&) { return true; }

// Each test ends with every descriptor closed and the whole budget free.
class ReadPoolTest : public ::testing::Test {
 protected:
  ~ReadPoolTest() override {
    EXPECT_EQ(budget_.used(), 0);
    EXPECT_EQ(OpenDescriptors(), descriptors_);
  }

  void Write(const std::string& name, const std::string& content) {
    const std::filesystem::path path = dir_ / name;
    std::filesystem::create_directories(path.parent_path());
    WriteFile(dir_ / name, content);
  }
  FileRequest Request(const std::string& name, uint64_t cookie = 0) {
    return {name, root_.StatPath(name).value(), cookie};
  }
  std::vector<FileRequest> Requests(const std::vector<std::string>& names) {
    std::vector<FileRequest> requests;
    for (const std::string& name : names) requests.push_back(Request(name));
    return requests;
  }

  static std::vector<Outcome> Drain(ReadCall& call) {
    std::vector<Outcome> all;
    while (call.outstanding() > 0) {
      auto some = call.Wait();
      EXPECT_TRUE(some);
      for (Outcome& each : *some) all.push_back(std::move(each));
    }
    return all;
  }
  std::vector<Outcome> Read(ReadPool& pool, std::vector<FileRequest> requests,
                            CallOptions options = {}) {
    const auto call = pool.Start({}, root_, options);
    EXPECT_TRUE(call->TryAdd(requests));
    return Drain(*call);
  }
  Outcome ReadOne(const std::string& name, CallOptions options = {}) {
    ReadPool pool(budget_, {.readers = 1});
    auto outcomes = Read(pool, {Request(name)}, options);
    EXPECT_EQ(outcomes.size(), 1u);
    return std::move(outcomes.front());
  }

  const size_t descriptors_ = OpenDescriptors() + 1;  // And the root's.
  testing::TempDir dir_;
  files::Root root_ = std::move(files::Root::Open(dir_.path()).value());
  work::Budget budget_{64 * kMiB};
};

TEST_F(ReadPoolTest, KeepsSmallFilesAndSaysWhoseTheyAre) {
  Write("a", "hello");
  ReadPool pool(budget_);
  const auto outcomes = Read(pool, {Request("a", 42)});
  ASSERT_EQ(outcomes.size(), 1u);
  const Outcome& outcome = outcomes.front();
  ASSERT_TRUE(outcome.file);
  EXPECT_EQ(outcome.cookie, 42u);
  EXPECT_EQ(outcome.path, "a");
  EXPECT_EQ(outcome.file->digest, DigestOf("hello"));
  EXPECT_EQ(outcome.file->blob->bytes().view(), "hello");
  EXPECT_TRUE(outcome.file->blob->verified());
  EXPECT_TRUE(files::Unchanged(outcome.file->stat, *root_.StatPath("a")));
}

TEST_F(ReadPoolTest, OfLargeFilesThereIsOnlyTheDigest) {
  const std::string content = Content(9 * kMiB + 1);
  Write("large", content);
  const Outcome outcome = ReadOne("large");
  ASSERT_TRUE(outcome.file);
  EXPECT_EQ(outcome.file->digest, DigestOf(content));
  EXPECT_FALSE(outcome.file->blob);
}

TEST_F(ReadPoolTest, KeepsUpToExactlyKeepBytes) {
  Write("a", Content(1000));
  EXPECT_TRUE(ReadOne("a", {.keep_bytes = 1000}).file->blob);
  EXPECT_FALSE(ReadOne("a", {.keep_bytes = 999}).file->blob);
}

TEST_F(ReadPoolTest, UsesTheDigestFunctionAskedFor) {
  Write("a", "hello");
  const Outcome outcome = ReadOne("a", {.function = DigestFunction::kSha512});
  EXPECT_EQ(outcome.file->digest,
            digest::Hash(DigestFunction::kSha512, AsBytes("hello")));
}

TEST_F(ReadPoolTest, AnEmptyFileIsABlobToo) {
  Write("a", "");
  const Outcome outcome = ReadOne("a");
  EXPECT_TRUE(digest::IsEmpty(outcome.file->digest));
  EXPECT_TRUE(outcome.file->blob);
}

TEST_F(ReadPoolTest, ReadsFilesThatHideTheirSizeToTheEnd) {
  {
    auto proc = files::Root::Open("/proc/sys/kernel");
    ASSERT_TRUE(proc);
    ReadPool pool(budget_, {.readers = 1});
    const auto call = pool.Start({}, *proc, {});
    std::vector<FileRequest> requests{{"ostype", *proc->StatPath("ostype")}};
    ASSERT_EQ(requests[0].expected.size, 0);
    ASSERT_TRUE(call->TryAdd(requests));
    const auto outcomes = Drain(*call);
    ASSERT_TRUE(outcomes.at(0).file);
    EXPECT_EQ(outcomes[0].file->blob->bytes().view(), "Linux\n");
    EXPECT_EQ(outcomes[0].file->digest, DigestOf("Linux\n"));
    EXPECT_GT(outcomes[0].file->lease.amount(), 6);
  }
}

TEST_F(ReadPoolTest, RefusesFilesThatHideTheirSizeAndAreLarge) {
  {
    auto proc = files::Root::Open("/proc/sys/kernel");
    ASSERT_TRUE(proc);
    ReadPool pool(budget_, {.readers = 1});
    const auto call = pool.Start({}, *proc, {.keep_bytes = 5});
    std::vector<FileRequest> requests{{"ostype", *proc->StatPath("ostype")}};
    ASSERT_TRUE(call->TryAdd(requests));
    const auto outcomes = Drain(*call);
    ASSERT_FALSE(outcomes.at(0).file);
    EXPECT_EQ(outcomes[0].file.error().code, Code::kFailedPrecondition);
    EXPECT_NE(outcomes[0].file.error().message.find("not known in advance"),
              std::string::npos);
  }
}

TEST_F(ReadPoolTest, AVanishedFileIsNotFoundAndTheOthersGoOn) {
  Write("a", "A");
  Write("b", "B");
  const auto requests = Requests({"a", "b"});
  std::filesystem::remove(dir_ / "a");
  ReadPool pool(budget_, {.readers = 1});
  for (const Outcome& each : Read(pool, requests)) {
    const Code code = each.file ? Code::kOk : each.file.error().code;
    EXPECT_EQ(code, each.path == "b" ? Code::kOk : Code::kNotFound);
  }
}

TEST_F(ReadPoolTest, AFailedOpenIsThatFilesFailure) {
  Write("a", "A");
  Write("b", "B");
  FaultInjector faults(
      {.nth = 1, .error = EMFILE, .counts = [](const Call& call) {
         return IsOpenOf(call, "a");
       }});
  ReadPool pool(budget_, {.readers = 1});
  for (const Outcome& each : Read(pool, Requests({"a", "b"}))) {
    EXPECT_EQ(each.file.has_value(), each.path == "b");
  }
}

TEST_F(ReadPoolTest, AFailedReadNamesTheFile) {
  Write("a", "A");
  FaultInjector faults(
      {.nth = 1, .error = EIO, .for_good = true, .counts = IsRead});
  const Outcome outcome = ReadOne("a");
  ASSERT_FALSE(outcome.file);
  EXPECT_EQ(outcome.file.error().message.find("a: "), 0u);
}

// What happens to the file "a" at the end of its first read.
class ChangeTest : public ReadPoolTest {
 protected:
  Outcome ReadWhile(const std::function<void()>& change, int times,
                    CallOptions options = {}) {
    std::atomic<int> left = times;
    FaultInjector faults({.done = [&](const Call& call) {
      if (IsRead(call) && left-- > 0) change();
    }});
    return ReadOne("a", options);
  }
};

TEST_F(ChangeTest, AFileThatGrewIsReadAgain) {
  Write("a", "short");
  const auto outcome = ReadWhile([&] { Write("a", "longer"); }, 1);
  ASSERT_TRUE(outcome.file);
  EXPECT_EQ(outcome.file->digest, DigestOf("longer"));
  EXPECT_EQ(outcome.file->blob->bytes().view(), "longer");
  EXPECT_EQ(outcome.file->lease.amount(), 256 + 6);
}

TEST_F(ChangeTest, AFileThatShrankIsReadAgain) {
  Write("a", Content(3 * kMiB));
  const auto outcome =
      ReadWhile([&] { ::truncate((dir_ / "a").c_str(), kMiB); }, 1);
  ASSERT_TRUE(outcome.file);
  EXPECT_EQ(outcome.file->digest, DigestOf(Content(kMiB)));
}

TEST_F(ChangeTest, AFileOverwrittenInPlaceIsReadAgain) {
  Write("a", "before");
  const timespec past[2] = {{.tv_sec = 1000, .tv_nsec = 0},
                            {.tv_sec = 1000, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (dir_ / "a").c_str(), past, 0), 0);
  const auto outcome = ReadWhile([&] { Write("a", "after!"); }, 1);
  ASSERT_TRUE(outcome.file);
  EXPECT_EQ(outcome.file->digest, DigestOf("after!"));
}

TEST_F(ChangeTest, AFileThatKeepsChangingFails) {
  Write("a", "x");
  int opens = 0;
  std::string content = "x";
  FaultInjector faults({.done = [&](const Call& call) {
    if (IsOpenOf(call, "a")) ++opens;
    if (IsRead(call)) Write("a", content += "x");
  }});
  const Outcome outcome = ReadOne("a", {.changed_retries = 2});
  ASSERT_FALSE(outcome.file);
  EXPECT_EQ(outcome.file.error().code, Code::kFailedPrecondition);
  EXPECT_NE(outcome.file.error().message.find("changed while it was read"),
            std::string::npos);
  EXPECT_EQ(content.size(), 1u + 3u);
}

TEST_F(ChangeTest, AFileRemovedAfterItChangedIsNotFound) {
  Write("a", "x");
  const auto outcome = ReadWhile(
      [&] {
        Write("a", "xx");
        std::filesystem::remove(dir_ / "a");
      },
      1);
  EXPECT_EQ(outcome.file.error().code, Code::kNotFound);
}

TEST_F(ChangeTest, AFileReplacedByAnotherIsReadAsItIsNow) {
  Write("a", "old");
  Write("b", "new one");
  auto request = Request("a");
  std::filesystem::rename(dir_ / "b", dir_ / "a");
  ReadPool pool(budget_, {.readers = 1});
  const auto outcomes = Read(pool, {request});
  ASSERT_TRUE(outcomes.at(0).file);
  EXPECT_EQ(outcomes[0].file->digest, DigestOf("new one"));
}

TEST_F(ChangeTest, AFileReplacedByAFifoFailsAndBlocksNobody) {
  Write("a", "old");
  auto request = Request("a");
  std::filesystem::remove(dir_ / "a");
  ASSERT_EQ(::mkfifo((dir_ / "a").c_str(), 0600), 0);
  ReadPool pool(budget_, {.readers = 1});
  const auto outcomes = Read(pool, {request});
  EXPECT_EQ(outcomes.at(0).file.error().code, Code::kFailedPrecondition);
}

TEST_F(ChangeTest, ProgressDoesNotCountAChangedFileTwice) {
  Write("a", Content(6 * kMiB));
  std::atomic<bool> changed = false;
  FaultInjector faults({.done = [&](const Call& call) {
    if (!IsRead(call) || changed.exchange(true)) return;
    ::truncate((dir_ / "a").c_str(), 5 * kMiB);
  }});
  ReadPool pool(budget_, {.readers = 1});
  ProgressDispatch dispatch;
  const auto feed = dispatch.NewFeed(nullptr);
  {
    const auto call = pool.Start({}, root_, {}, feed);
    auto requests = Requests({"a"});
    ASSERT_TRUE(call->TryAdd(requests));
    Drain(*call);
  }
  EXPECT_EQ(feed->Snapshot().files_done, 1);
  EXPECT_EQ(feed->Snapshot().bytes_done, 5 * kMiB);
}

TEST_F(ReadPoolTest, FilesThatAreNotCachedAreReadAsWell) {
  FaultInjector cold(Cold(Every));
  std::map<std::string, Digest> expected;
  for (int i = 0; i < 40; ++i) {
    const auto size = static_cast<size_t>(i % 10 == 9 ? 5 * kMiB : i * 1000);
    const std::string content = Content(size, i);
    Write(std::to_string(i), content);
    expected[std::to_string(i)] = DigestOf(content);
  }
  std::vector<FileRequest> requests;
  for (const auto& each : expected) requests.push_back(Request(each.first));
  ReadPool pool(budget_, {.blocking_threads = 3});
  const auto outcomes = Read(pool, requests);
  EXPECT_EQ(outcomes.size(), 40u);
  for (const Outcome& each : outcomes) {
    ASSERT_TRUE(each.file) << each.file.error().message;
    EXPECT_EQ(each.file->digest, expected[each.path]);
  }
}

TEST_F(ReadPoolTest, AFileThatWaitsForTheDiskHoldsUpNoReader) {
  Write("cold", "COLD");
  Write("warm", "WARM");
  std::latch go(1);
  auto plan = Cold([](const std::string& name) { return name == "cold"; });
  plan.before = [&](const Call& call) {
    if (call.name == "pread" && NameOf(call) == "cold") go.wait();
  };
  FaultInjector slow(plan);
  ReadPool pool(budget_, {.readers = 1});
  const auto call = pool.Start({}, root_, {});
  auto requests = Requests({"cold", "warm"});
  ASSERT_TRUE(call->TryAdd(requests));
  const auto first = call->Wait();
  ASSERT_EQ(first->size(), 1u);
  EXPECT_EQ(first->front().path, "warm");
  go.count_down();
  EXPECT_EQ(Drain(*call).at(0).file->digest, DigestOf("COLD"));
}

TEST_F(ReadPoolTest, OpensFewFilesOfACallWhoseFilesWaitForTheDisk) {
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i)
    Write(names.emplace_back(std::to_string(i)), "c");
  Write("warm", "WARM");
  std::latch go(1);
  std::atomic<int> opened = 0;
  auto plan = Cold([](const std::string& name) { return name != "warm"; });
  plan.before = [&](const Call& call) {
    if (call.name == "openat" || call.name == "openat2") ++opened;
    // Where there is no RWF_NOWAIT, "warm" is read by pread as well.
    if (call.name == "pread" && NameOf(call) != "warm") go.wait();
  };
  const auto requests = Requests(names);
  const auto warm = Requests({"warm"});
  FaultInjector slow(plan);
  ReadPool pool(budget_, {.readers = 1, .blocking_threads = 2});
  const auto call = pool.Start({}, root_, {});
  auto cold = requests;
  ASSERT_TRUE(call->TryAdd(cold));
  EXPECT_TRUE(Read(pool, warm).at(0).file);  // In spite of all that waits.
  EXPECT_LE(opened, 32 + 1);  // One slice was under way when the lane filled.
  go.count_down();
  EXPECT_EQ(Drain(*call).size(), 50u);
}

TEST_F(ReadPoolTest, CallsTakeTurns) {
  std::vector<std::string> many;
  for (int i = 0; i < 200; ++i)
    Write(many.emplace_back(std::to_string(i)), "m");
  Write("other", "OTHER");
  std::latch added(1);
  std::vector<std::string> order;  // Of the one reader.
  FaultInjector watch({.before = [&](const Call& call) {
    if (!IsOpen(call)) return;
    if (order.empty()) added.wait();
    order.push_back(call.path);
  }});
  ReadPool pool(budget_, {.readers = 1});
  const auto first = pool.Start({}, root_, {});
  const auto second = pool.Start({}, root_, {});
  auto requests = Requests(many);
  ASSERT_TRUE(first->TryAdd(requests));
  requests = Requests({"other"});
  ASSERT_TRUE(second->TryAdd(requests));
  added.count_down();
  Drain(*first);
  Drain(*second);
  const auto turn = std::ranges::find(order, "other") - order.begin();
  EXPECT_LE(turn, 2 * 32);
}

TEST_F(ReadPoolTest, AHugeFileLetsOthersPass) {
  Write("huge", Content(40 * kMiB));
  Write("small", "SMALL");
  std::latch added(1);
  std::vector<std::string> order;
  FaultInjector watch({.done = [&](const Call& call) {
    if (!IsRead(call)) return;
    if (order.empty()) added.wait();
    order.push_back(NameOf(call));
  }});
  ReadPool pool(budget_, {.readers = 1, .buffer_bytes = kMiB});
  const auto first = pool.Start({}, root_, {});
  const auto second = pool.Start({}, root_, {});
  auto requests = Requests({"huge"});
  ASSERT_TRUE(first->TryAdd(requests));
  requests = Requests({"small"});
  ASSERT_TRUE(second->TryAdd(requests));
  added.count_down();
  Drain(*first);
  Drain(*second);
  const auto turn = std::ranges::find(order, "small") - order.begin();
  EXPECT_LE(turn, 8);  // Of 40 reads, by the two first slices.
}

TEST_F(ReadPoolTest, AsksOnceASliceWhetherTheFilesystemCanTellWhatIsCached) {
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i)
    Write(names.emplace_back(std::to_string(i)), "m");
  FaultInjector cannot(
      {.nth = 1,
       .error = EOPNOTSUPP,
       .for_good = true,
       .counts = [](const Call& call) { return call.name == "preadv2"; }});
  ReadPool pool(budget_, {.readers = 1});
  for (const Outcome& each : Read(pool, Requests(names))) {
    EXPECT_TRUE(each.file);
  }
  EXPECT_LE(cannot.calls(), 10);  // Slices of 32, 16, 8 and so on.
}

TEST_F(ReadPoolTest, OpensTheFilesOfADirectoryInIt) {
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i) {
    Write(names.emplace_back("d/" + std::to_string(i)), "m");
  }
  const auto requests = Requests(names);
  std::atomic<int> from_root = 0;
  FaultInjector watch({.before = [&](const Call& call) {
    if (IsOpen(call)) from_root += std::string(call.path).starts_with("d");
  }});
  ReadPool pool(budget_, {.readers = 1});
  for (const Outcome& each : Read(pool, requests)) EXPECT_TRUE(each.file);
  EXPECT_LE(from_root, 2 * 10);  // A file and its directory in each slice.
}

TEST_F(ReadPoolTest, ADirectoryThatBecomesALinkLeadsNowhere) {
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i) {
    Write(names.emplace_back("d/" + std::to_string(i)), "inside");
    Write("elsewhere/" + std::to_string(i), "outside");
  }
  const auto requests = Requests(names);
  int opens = 0;
  FaultInjector attacker({.before = [&](const Call& call) {
    if (!IsOpen(call) || ++opens != 5) return;
    std::filesystem::rename(dir_ / "d", dir_ / "old");
    std::filesystem::create_symlink("elsewhere", dir_ / "d");
  }});
  ReadPool pool(budget_, {.readers = 1});
  size_t read = 0;
  for (const Outcome& each : Read(pool, requests)) {
    if (!each.file) continue;
    EXPECT_EQ(each.file->digest, DigestOf("inside"));
    ++read;
  }
  EXPECT_LE(read, 32u);  // What was under way in a directory that was held.
}

TEST_F(ReadPoolTest, ServesManyCallsAtOnce) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    Write(names.emplace_back(std::to_string(i)),
          Content(100 * static_cast<size_t>(i), i));
  }
  const auto requests = Requests(names);
  ReadPool pool(budget_);
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 16; ++caller) {
    callers.emplace_back([&] {
      const auto outcomes = Read(pool, requests);
      EXPECT_EQ(outcomes.size(), 100u);
      for (const Outcome& each : outcomes) {
        ASSERT_TRUE(each.file);
        const size_t number = static_cast<size_t>(std::stoi(each.path));
        EXPECT_EQ(each.file->digest,
                  DigestOf(Content(100 * number, static_cast<int>(number))));
      }
    });
  }
}

TEST_F(ReadPoolTest, AnOutcomeHoldsItsPartOfTheBudget) {
  Write("a", Content(1000));
  ReadPool pool(budget_, {.readers = 1});
  const int64_t buffers = budget_.used();
  {
    const auto outcomes = Read(pool, Requests({"a"}));
    EXPECT_EQ(budget_.used(), buffers + 1000 + 256);
  }
  EXPECT_EQ(budget_.used(), buffers);
}

TEST_F(ReadPoolTest, RefusesWhatTheBudgetHasNoRoomForAndKeepsItWhole) {
  Write("a", Content(1000));
  Write("b", Content(1000));
  ReadPool pool(budget_, {.readers = 1});
  const auto call = pool.Start({}, root_, {});
  auto first = Requests({"a"});
  ASSERT_TRUE(call->TryAdd(first));
  EXPECT_TRUE(first.empty());
  auto second = Requests({"b"});
  work::Lease rest = budget_.TryAcquire(budget_.capacity() - budget_.used());
  EXPECT_FALSE(call->TryAdd(second));
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].path, "b");
  rest.Release();
  EXPECT_TRUE(call->TryAdd(second));
  EXPECT_EQ(Drain(*call).size(), 2u);
}

TEST_F(ReadPoolTest, WaitAndAddWaitsUntilTheBudgetHasRoom) {
  Write("a", Content(1000));
  ReadPool pool(budget_, {.readers = 1});
  const auto call = pool.Start({}, root_, {});
  work::Lease rest = budget_.TryAcquire(budget_.capacity() - budget_.used());
  auto requests = Requests({"a"});
  std::jthread giver([&] {
    while (budget_.waiting() == 0) std::this_thread::yield();
    rest.Release();
  });
  EXPECT_TRUE(call->WaitAndAdd(requests));
  EXPECT_TRUE(Drain(*call).at(0).file);
}

TEST_F(ReadPoolTest, ABatchLargerThanTheBudgetPassesAlone) {
  const std::string content = Content(100'000);
  Write("a", content);
  work::Budget tiny(64 << 10);
  {
    ReadPool pool(tiny, {.readers = 1});
    EXPECT_EQ(Read(pool, Requests({"a"})).at(0).file->digest,
              DigestOf(content));
    EXPECT_LE(tiny.peak(), tiny.capacity());
  }
}

TEST_F(ReadPoolTest, GetsAlongWithATinyBudget) {
  const std::string content = Content(200'000);
  Write("a", content);
  work::Budget tiny(40 << 10);
  {
    ReadPool pool(tiny, {.readers = 2});
    EXPECT_LE(tiny.used(), 2 * (16 << 10));
    EXPECT_EQ(Read(pool, Requests({"a"})).at(0).file->digest,
              DigestOf(content));
    EXPECT_LE(tiny.peak(), tiny.capacity());
  }
  EXPECT_EQ(tiny.used(), 0);
}

TEST_F(ReadPoolTest, AStoppedCallEndsItsWait) {
  Write("a", "A");
  std::stop_source source;
  std::latch go(1);
  FaultInjector watch({.before = [&](const Call& call) {
    if (IsRead(call)) go.wait();
  }});
  ReadPool pool(budget_, {.readers = 1});
  const auto call = pool.Start({.stop = source.get_token()}, root_, {});
  auto requests = Requests({"a"});
  ASSERT_TRUE(call->TryAdd(requests));
  std::jthread stopper([&] { source.request_stop(); });
  EXPECT_EQ(call->Wait().error().code, Code::kCancelled);
  go.count_down();
}

TEST_F(ReadPoolTest, OfAStoppedCallNothingMoreIsRead) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i)
    Write(names.emplace_back(std::to_string(i)), "m");
  std::stop_source source;
  std::atomic<int> reads = 0;
  FaultInjector watch({.before = [&](const Call& call) {
    if (IsOpen(call) && ++reads == 3) source.request_stop();
  }});
  ReadPool pool(budget_, {.readers = 1});
  const auto call = pool.Start({.stop = source.get_token()}, root_, {});
  auto requests = Requests(names);
  ASSERT_TRUE(call->TryAdd(requests));
  while (call->Wait()) {
  }
  EXPECT_EQ(reads, 3);
}

TEST_F(ReadPoolTest, TheEndOfACallForgetsWhatIsQueued) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i)
    Write(names.emplace_back(std::to_string(i)), "m");
  std::latch reading(1), go(1);
  std::atomic<int> reads = 0;
  FaultInjector watch({.before = [&](const Call& call) {
    if (!IsOpen(call)) return;
    if (++reads == 1) reading.count_down();
    go.wait();
  }});
  ReadPool pool(budget_, {.readers = 1});
  auto call = pool.Start({}, root_, {});
  auto requests = Requests(names);
  ASSERT_TRUE(call->TryAdd(requests));
  reading.wait();
  const int64_t before = budget_.used();
  std::jthread ender([&] { call.reset(); });
  while (budget_.used() == before) std::this_thread::yield();
  go.count_down();
  ender.join();
  EXPECT_EQ(reads, 1);
}

TEST_F(ReadPoolTest, ACallMayEndWhileItsFilesWaitForTheDisk) {
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i)
    Write(names.emplace_back(std::to_string(i)), "m");
  std::latch waiting(1), go(1);
  std::atomic<bool> once = false;
  auto plan = Cold(Every);
  plan.before = [&](const Call& call) {
    if (call.name != "pread") return;
    if (!once.exchange(true)) waiting.count_down();
    go.wait();
  };
  FaultInjector slow(plan);
  ReadPool pool(budget_, {.readers = 1, .blocking_threads = 2});
  auto call = pool.Start({}, root_, {});
  auto requests = Requests(names);
  ASSERT_TRUE(call->TryAdd(requests));
  waiting.wait();
  std::jthread ender([&] { call.reset(); });
  go.count_down();
}

TEST_F(ReadPoolTest, WaitSaysNothingWhenNothingIsOutstanding) {
  ReadPool pool(budget_, {.readers = 1});
  const auto call = pool.Start({}, root_, {});
  EXPECT_TRUE(call->Wait()->empty());
  EXPECT_TRUE(call->Take().empty());
  std::vector<FileRequest> none;
  EXPECT_TRUE(call->TryAdd(none));
}

// Whichever system call fails, once or from then on: each file has one outcome,
// right or an error, and nothing is lost.
TEST_F(ReadPoolTest, SurvivesTheFailureOfAnySystemCall) {
  Write("a", "A");
  Write("b", Content(300'000));
  Write("c", "");
  for (const char* const name : {"d/1", "d/2", "d/3"}) Write(name, name);
  const auto requests = Requests({"a", "b", "c", "d/1", "d/2", "d/3"});
  for (const bool for_good : {false, true}) {
    bool fired = true;
    for (int nth = 1; fired; ++nth) {
      FaultInjector faults({.nth = nth, .error = EIO, .for_good = for_good});
      ReadPool pool(budget_, {.readers = 1, .buffer_bytes = 64 << 10});
      const auto outcomes = Read(pool, requests, {.keep_bytes = 100'000});
      EXPECT_EQ(outcomes.size(), 6u);
      for (const Outcome& each : outcomes) {
        if (!each.file) continue;
        EXPECT_EQ(each.file->digest,
                  DigestOf(testing::ReadFile(dir_ / each.path)));
      }
      fired = faults.fired();
    }
  }
}

}  // namespace
}  // namespace casemate::readpool
