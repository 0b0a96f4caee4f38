#include "testing/temp_dir.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/check.h"

namespace casemate::testing {

TempDir::TempDir() {
  const char* const base = std::getenv("TMPDIR");
  path_ = std::string(base ? base : "/tmp") + "/casemate-test-XXXXXX";
  CASEMATE_CHECK(mkdtemp(path_.data()) != nullptr);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  CASEMATE_CHECK(file.good());
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  CASEMATE_CHECK(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace casemate::testing
