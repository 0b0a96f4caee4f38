#include "files/descriptor.h"

#include <cerrno>

#include "files/sys.h"

namespace casemate::files {

void Descriptor::Reset() {
  if (fd_ < 0) return;
  const int error = errno;
  sys::Close(std::exchange(fd_, -1));
  errno = error;
}

}  // namespace casemate::files
