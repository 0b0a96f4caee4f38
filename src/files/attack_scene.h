// The scene of attack_test.cc: a root, a secret beside it, and an attacker who
// exchanges entries below the root with links to the secret.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "files/directory.h"
#include "testing/temp_dir.h"

namespace casemate::files {

//   in/a/d       a directory with the file "f"; its double in/a/d.link leads
//                to out/
//   in/a/f       a file; its double in/a/f.link leads to out/f
//   out/f        the secret; nothing else may ever appear in out/
class AttackScene {
 public:
  AttackScene();

  std::string root() const { return dir_ / "in"; }

  // The directory in/a/d, held wherever it is at the moment.
  const Directory& real() const { return real_; }

  const Stat& secret() const { return secret_file_; }

  // Whether this is the secret or where it lies.
  bool IsSecret(const Stat& stat) const;

  // Whether out/ is as it was made.
  bool IsUntouched() const;

  static constexpr const char* kInside = "inside";
  static constexpr const char* kSecret = "secret";

 private:
  friend class Attacker;

  testing::TempDir dir_;
  Directory real_;
  Stat secret_directory_;
  Stat secret_file_;
};

// Exchanges both pairs as fast as he can, on a thread of his own.
class Attacker {
 public:
  explicit Attacker(const AttackScene& scene);
  ~Attacker();

  int64_t exchanges() const { return exchanges_; }

 private:
  std::atomic<int64_t> exchanges_ = 0;
  std::jthread thread_;
};

// From here on this process's openat2 says `error`, as under a container's
// seccomp filter. Cannot be undone.
void ForbidOpenAt2(int error);

}  // namespace casemate::files
