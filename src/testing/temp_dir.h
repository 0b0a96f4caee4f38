// A scratch directory for one test.
#pragma once

#include <string>

namespace casemate::testing {

// A fresh directory under $TMPDIR (else /tmp), removed with all in it.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

// Writes a file, replacing what was there; aborts if it cannot.
void WriteFile(const std::string& path, const std::string& content);
std::string ReadFile(const std::string& path);

}  // namespace casemate::testing
