#include "files/directory_stream.h"

#include <dirent.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/try.h"
#include "files/error.h"
#include "files/sys.h"

namespace casemate::files {
namespace {

Kind KindOf(unsigned char type) {
  switch (type) {
    case DT_REG: return Kind::kRegular;
    case DT_DIR: return Kind::kDirectory;
    case DT_LNK: return Kind::kSymlink;
    case DT_FIFO: return Kind::kFifo;
    case DT_SOCK: return Kind::kSocket;
    case DT_CHR: return Kind::kCharacterDevice;
    case DT_BLK: return Kind::kBlockDevice;
    default: return Kind::kUnknown;
  }
}

}  // namespace

Result<std::optional<DirectoryStream::Item>> DirectoryStream::Next() {
  for (;;) {
    if (at_ == end_) {
      RETURN_IF_ERROR(Fill());
      if (end_ == 0) return std::optional<Item>();
    }
    // On 64-bit machines struct dirent is what the kernel writes.
    static_assert(sizeof(ino_t) == 8 && sizeof(off_t) == 8);
    const char* const record = buffer_.data() + at_;
    unsigned short length;
    std::memcpy(&length, record + offsetof(dirent, d_reclen), sizeof(length));
    const auto type =
        static_cast<unsigned char>(record[offsetof(dirent, d_type)]);
    const std::string_view name = record + offsetof(dirent, d_name);
    at_ += length;
    if (name != "." && name != "..") return Item{name, KindOf(type)};
  }
}

Result<void> DirectoryStream::Fill() {
  if (!started_ && sys::Seek(fd_, 0) < 0) {
    return SystemError(errno, "list", "directory");
  }
  started_ = true;
  const ssize_t got = sys::GetDents(fd_, buffer_.data(), buffer_.size());
  if (got < 0) return SystemError(errno, "list", "directory");
  at_ = 0;
  end_ = static_cast<size_t>(got);
  return {};
}

}  // namespace casemate::files
