// Rows about `casemate serve`: the program itself, against bare gRPC servers
// that do what it cannot do without.
#pragma once

#include <string>
#include <vector>

#include "bench/driver.h"
#include "bench/rpc_rows.h"

namespace casemate::bench {

std::vector<RowResult> ServeSmallBlobs(const Options& options);
std::vector<RowResult> ServeLargeBlobs(const Options& options);
std::vector<RowResult> ServerMemory(const Options& options);

// How to start it on a store, with flags besides.
std::vector<std::string> ServeCommand(const Options& options,
                                      const std::string& store,
                                      const std::vector<std::string>& flags);
inline const std::vector<std::string> kBareServer = {"/proc/self/exe",
                                                     "--serve-bare"};

// Starts such a server, and runs loads that fill its store.
void FillStore(const std::vector<std::string>& server,
               const std::vector<Load>& loads);

// The files of that size in a store's folder; the largest of all.
std::vector<std::string> StoredFiles(const std::string& folder, size_t size);
std::string LargestFile(const std::string& folder);

// The same load in other words: for the bare server, which answers less.
Load ForBare(Load load, const std::string& path);

void Append(std::vector<RowResult>& rows, std::vector<RowResult> more);

}  // namespace casemate::bench
