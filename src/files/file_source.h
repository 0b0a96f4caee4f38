// A file as a Source: reopened through its root each time it is read.
#pragma once

#include <memory>
#include <string>

#include "casemate/io.h"
#include "files/root.h"

namespace casemate::files {

// Holds no descriptor. Each Open resolves `path` below `root` again, which must
// outlive the source and its readers, and must find the same device, inode,
// size and times as `expected`; otherwise, or if they differ once the reader
// reaches the end, kFailedPrecondition, "changed while it was read".
std::unique_ptr<Source> MakeFileSource(const Root& root, std::string path,
                                       const Stat& expected);

}  // namespace casemate::files
