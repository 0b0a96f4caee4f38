// What the tests of files/ share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "files/directory.h"
#include "files/root.h"
#include "testing/temp_dir.h"

namespace casemate::files {

// The directory at `path`, held; aborts if it cannot be.
Directory MustHold(const std::string& path);
Root MustRoot(const std::string& path, RootOptions options = {});

// All of a file.
std::string ContentOf(const File& file);

// The names in a directory, sorted.
std::vector<std::string> NamesIn(const std::string& path);

// Descriptors that this process has open.
size_t CountDescriptors();

// What `body` says in a child process, where it may do what cannot be undone;
// or that the child died.
std::string InChild(const std::function<std::string()>& body);

// The same as somebody without privileges, to whom `dir` is given.
std::string AsOrdinaryUser(const testing::TempDir& dir,
                           const std::function<std::string()>& body);

}  // namespace casemate::files
