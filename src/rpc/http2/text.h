// How bytes travel in header fields: base64, percent-encoding, timeouts.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace casemate::rpc::http2 {

// Without padding, as gRPC prefers it.
std::string ToBase64(std::string_view bytes);

// With or without padding; nullopt if it is none.
std::optional<std::string> FromBase64(std::string_view text);

// For grpc-message: bytes outside 0x20..0x7E, and '%', as %XX.
std::string PercentEncode(std::string_view text);

// The value of grpc-timeout: 1 to 8 digits and a unit (H M S m u n).
std::optional<std::chrono::nanoseconds> ParseTimeout(std::string_view text);

}  // namespace casemate::rpc::http2
