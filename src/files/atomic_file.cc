#include "files/atomic_file.h"

#include <sys/random.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "base/try.h"

namespace casemate::files {

std::string RandomName(std::string_view prefix) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::array<unsigned char, 8> bytes;
  // So few bytes are never cut short, nor refused once the machine is up.
  CASEMATE_CHECK(getrandom(bytes.data(), bytes.size(), 0) ==
                 ssize_t{bytes.size()});
  std::string name(prefix);
  for (const unsigned char byte : bytes) {
    name += kDigits[byte >> 4];
    name += kDigits[byte & 15];
  }
  return name;
}

Result<AtomicFile> AtomicFile::Create(const Directory& directory) {
  std::string name = RandomName(".casemate-");
  ASSIGN_OR_RETURN(OutputFile file, directory.CreateFile(name, 0600));
  return AtomicFile(directory, std::move(name), std::move(file));
}

AtomicFile::AtomicFile(const Directory& directory, std::string temporary,
                       OutputFile file)
    : directory_(&directory),
      temporary_(std::move(temporary)),
      file_(std::move(file)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : directory_(other.directory_),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(directory_, other.directory_);
  std::swap(temporary_, other.temporary_);
  std::swap(file_, other.file_);
  return *this;
}

// Nothing can be done about a temporary file that cannot be removed.
AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) (void)directory_->Unlink(temporary_);
}

Result<void> AtomicFile::Publish(const std::string& name, uint32_t mode,
                                 Replace replace) {
  RETURN_IF_ERROR(file_.SetMode(mode));
  RETURN_IF_ERROR(file_.Close());
  RETURN_IF_ERROR(directory_->Rename(temporary_, *directory_, name, replace));
  // After an exchange, what was there before has the temporary name.
  if (replace != Replace::kExchange) temporary_.clear();
  return {};
}

}  // namespace casemate::files
