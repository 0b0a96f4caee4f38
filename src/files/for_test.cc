#include "files/for_test.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/check.h"

#if defined(__SANITIZE_THREAD__)
// A child that ends by _exit would keep a finding to itself.
extern "C" const char* __tsan_default_options() { return "halt_on_error=1"; }
#endif

namespace casemate::files {
namespace {

constexpr uid_t kNobody = 65534;

[[noreturn]] void RunChild(int pipe, const std::function<std::string()>& body) {
  std::string said = body();
  if (::testing::Test::HasFailure()) said += " (an expectation failed)";
  const auto written = write(pipe, said.data(), said.size());
  _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
}

std::string ReadPipe(int pipe) {
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t got = 0;
  while ((got = read(pipe, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

Directory MustHold(const std::string& path) {
  Descriptor held(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CASEMATE_CHECK(held);
  return Directory(std::move(held));
}

Root MustRoot(const std::string& path, RootOptions options) {
  auto root = Root::Open(path, options);
  CASEMATE_CHECK(root);
  return std::move(*root);
}

std::string ContentOf(const File& file) {
  std::string content(1 << 20, '\0');
  const auto got = file.ReadAt(0, std::as_writable_bytes(std::span(content)));
  CASEMATE_CHECK(got);
  content.resize(*got);
  return content;
}

std::vector<std::string> NamesIn(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

size_t CountDescriptors() { return NamesIn("/proc/self/fd").size(); }

std::string InChild(const std::function<std::string()>& body) {
  int ends[2];
  CASEMATE_CHECK(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = fork();
  CASEMATE_CHECK(child >= 0);
  if (child == 0) RunChild(ends[1], body);
  close(ends[1]);
  std::string said = ReadPipe(ends[0]);
  close(ends[0]);
  int status = 0;
  CASEMATE_CHECK(waitpid(child, &status, 0) == child);
  return status == 0 ? said : "the child died: " + said;
}

std::string AsOrdinaryUser(const testing::TempDir& dir,
                           const std::function<std::string()>& body) {
  if (geteuid() != 0) return InChild(body);
  CASEMATE_CHECK(chown(dir.path().c_str(), kNobody, kNobody) == 0);
  return InChild([&] {
    CASEMATE_CHECK(setgroups(0, nullptr) == 0);
    CASEMATE_CHECK(setresgid(kNobody, kNobody, kNobody) == 0);
    CASEMATE_CHECK(setresuid(kNobody, kNobody, kNobody) == 0);
    // Who changes his user loses his own /proc/self/fd, unlike who logged in.
    CASEMATE_CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
    return body();
  });
}

}  // namespace casemate::files
