// Rows about the server's own HTTP/2 against gRPC C++, under gRPC's client and
// under h2load.
#pragma once

#include <string>
#include <vector>

#include "bench/driver.h"

namespace casemate::bench {

std::vector<RowResult> WireRows(const Options& options);

// Serves a few methods from memory until stdin ends: "http2" or "grpc".
int ServeWire(const std::string& carrier);
inline constexpr char kServeWireFlag[] = "--serve-wire";

}  // namespace casemate::bench
