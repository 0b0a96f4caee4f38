// What nghttp2 calls, bound to Connection.
#pragma once

#include <nghttp2/nghttp2.h>

namespace casemate::rpc::http2 {

// A server's session for `connection`, whose functions it calls; never null.
nghttp2_session* NewSession(class Connection& connection);

// Where DATA comes from: the stream's messages, or a text of our own.
nghttp2_data_provider FromStream();
nghttp2_data_provider FromText(const char* text);

}  // namespace casemate::rpc::http2
