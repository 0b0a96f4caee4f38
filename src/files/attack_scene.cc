#include "files/attack_scene.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/check.h"
#include "files/for_test.h"

namespace casemate::files {

using testing::ReadFile;
using testing::WriteFile;

namespace {

std::string Prepared(const testing::TempDir& dir) {
  std::filesystem::create_directories(dir / "in/a/d");
  std::filesystem::create_directories(dir / "out");
  WriteFile(dir / "in/a/d/f", AttackScene::kInside);
  WriteFile(dir / "in/a/f", AttackScene::kInside);
  WriteFile(dir / "out/f", AttackScene::kSecret);
  const std::string out = dir / "out";
  CASEMATE_CHECK(symlink(out.c_str(), (dir / "in/a/d.link").c_str()) == 0);
  CASEMATE_CHECK(symlink((out + "/f").c_str(), (dir / "in/a/f.link").c_str()) ==
                 0);
  return dir / "in/a/d";
}

void Exchange(int directory, const char* a, const char* b) {
  CASEMATE_CHECK(renameat2(directory, a, directory, b, RENAME_EXCHANGE) == 0);
}

}  // namespace

AttackScene::AttackScene()
    : real_(MustHold(Prepared(dir_))),
      secret_directory_(MustHold(dir_ / "out").StatSelf().value()),
      secret_file_(MustHold(dir_ / "out").StatEntry("f").value()) {}

bool AttackScene::IsSecret(const Stat& stat) const {
  return SameFile(stat, secret_directory_) || SameFile(stat, secret_file_);
}

bool AttackScene::IsUntouched() const {
  return NamesIn(dir_ / "out") == std::vector<std::string>{"f"} &&
         ReadFile(dir_ / "out/f") == kSecret;
}

Attacker::Attacker(const AttackScene& scene) {
  thread_ = std::jthread(
      [this, held = MustHold(scene.root() + "/a")](std::stop_token stop) {
        const int directory = held.descriptor().get();
        while (!stop.stop_requested()) {
          Exchange(directory, "d", "d.link");
          Exchange(directory, "f", "f.link");
          exchanges_.fetch_add(2, std::memory_order_relaxed);
        }
      });
  while (exchanges_ == 0) std::this_thread::yield();
}

Attacker::~Attacker() {
  thread_.request_stop();
  thread_.join();
}

void ForbidOpenAt2(int error) {
  std::array<sock_filter, 4> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K,
               SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program = {filter.size(), filter.data()};
  CASEMATE_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CASEMATE_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

}  // namespace casemate::files
