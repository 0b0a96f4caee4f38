// Methods of the bare server that do what a store must do, and no more: the
// floors of server_rows.
#pragma once

#include <map>
#include <string>

#include "bench/bare_server.h"

namespace casemate::bench {

// "/bare/Memory": the request says how many blobs of 4 KiB: the next so many of
// kMemoryBlobs in memory, all in one message, as in Files.
// "/bare/Files": the request is paths, one a line: open, pread and close of
// each, all in one message; several have a head of kBatchHead bytes each.
// "/bare/Stream": the request is a path: its bytes in messages of 1 MiB.
// "/bare/HashEach": SHA-256 of each 4 KiB of what comes.
// "/bare/Unzstd": SHA-256 of what the zstd stream in WriteRequests holds.
// "/bare/Take": takes what comes.
std::map<std::string, BareMethod> BareBlobMethods();

// As many as the rows read, so that both servers meet the same caches.
inline constexpr size_t kMemoryBlobs = 2048;

}  // namespace casemate::bench
