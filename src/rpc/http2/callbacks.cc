#include "rpc/http2/callbacks.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "rpc/http2/connection.h"
#include "rpc/http2/stream.h"

namespace casemate::rpc::http2 {
namespace {

std::string_view View(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

// The functions that nghttp2 is given; a friend of the connection's.
struct Callbacks {
  static Connection& Of(void* user) { return *static_cast<Connection*>(user); }

  static int HeadersBegin(nghttp2_session*, const nghttp2_frame* frame,
                          void* user) {
    Of(user).OnHeaders(frame->headers.cat == NGHTTP2_HCAT_REQUEST);
    return 0;
  }

  static int Header(nghttp2_session*, const nghttp2_frame*, const uint8_t* name,
                    size_t name_size, const uint8_t* value, size_t value_size,
                    uint8_t, void* user) {
    Of(user).OnHeader(View(name, name_size), View(value, value_size));
    return 0;
  }

  static int Frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Of(user).OnFrame(*frame);
    return 0;
  }

  static int FrameSent(nghttp2_session*, const nghttp2_frame* frame,
                       void* user) {
    Of(user).OnFrameSent(*frame);
    return 0;
  }

  static int Data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes,
                  size_t size, void* user) {
    Of(user).OnData(id, View(bytes, size));
    return 0;
  }

  static int Invalid(nghttp2_session*, const nghttp2_frame* frame, int,
                     void* user) {
    Of(user).OnInvalidFrame(*frame);
    return 0;
  }

  static int Closed(nghttp2_session*, int32_t id, uint32_t code, void* user) {
    Of(user).OnStreamClosed(id, code);
    return 0;
  }

  static ssize_t NextPart(nghttp2_session*, int32_t id, uint8_t*, size_t most,
                          uint32_t* flags, nghttp2_data_source*, void* user) {
    Stream* const stream = Of(user).Find(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return stream->NextPart(most, *flags);
  }

  static int SendPart(nghttp2_session*, nghttp2_frame* frame,
                      const uint8_t* head, size_t size, nghttp2_data_source*,
                      void* user) {
    constexpr size_t kFrameHead = 9;
    Connection& connection = Of(user);
    if (connection.full()) return NGHTTP2_ERR_WOULDBLOCK;
    Stream* const stream = connection.Find(frame->hd.stream_id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    connection.output_->Add(View(head, kFrameHead));
    stream->Emit(*connection.output_, size);
    return 0;
  }

  static ssize_t NextText(nghttp2_session*, int32_t, uint8_t* place,
                          size_t most, uint32_t* flags,
                          nghttp2_data_source* source, void*) {
    const char* const text = static_cast<const char*>(source->ptr);
    const size_t left = std::strlen(text);
    const size_t part = std::min(left, most);
    std::memcpy(place, text, part);
    source->ptr = const_cast<char*>(text + part);  // Never written to.
    if (part == left) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(part);
  }

  static nghttp2_session_callbacks* Make() {
    nghttp2_session_callbacks* all;
    CASEMATE_CHECK(nghttp2_session_callbacks_new(&all) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(all, HeadersBegin);
    nghttp2_session_callbacks_set_on_header_callback(all, Header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(all, Frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(all, Invalid);
    nghttp2_session_callbacks_set_on_frame_send_callback(all, FrameSent);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(all, Data);
    nghttp2_session_callbacks_set_on_stream_close_callback(all, Closed);
    nghttp2_session_callbacks_set_send_data_callback(all, SendPart);
    return all;
  }
};

namespace {

// Windows are ours to open; what a peer may do is ours to count; and closed
// streams are not kept for their priority.
nghttp2_option* MakeOptions() {
  nghttp2_option* options;
  CASEMATE_CHECK(nghttp2_option_new(&options) == 0);
  nghttp2_option_set_no_auto_window_update(options, 1);
  nghttp2_option_set_no_closed_streams(options, 1);
  // Spaces around a value are not significant to gRPC.
  nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(options, 1);
  nghttp2_option_set_max_outbound_ack(options, 100'000);
  nghttp2_option_set_stream_reset_rate_limit(options, 1'000'000, 1'000'000);
  return options;
}

}  // namespace

nghttp2_session* NewSession(Connection& connection) {
  // Live as long as the process; nghttp2 copies them.
  static const nghttp2_session_callbacks* const callbacks = Callbacks::Make();
  static const nghttp2_option* const options = MakeOptions();
  nghttp2_session* session;
  CASEMATE_CHECK(nghttp2_session_server_new2(&session, callbacks, &connection,
                                             options) == 0);
  return session;
}

nghttp2_data_provider FromStream() {
  nghttp2_data_provider provider{};
  provider.read_callback = Callbacks::NextPart;
  return provider;
}

nghttp2_data_provider FromText(const char* text) {
  nghttp2_data_provider provider{};
  provider.source.ptr = const_cast<char*>(text);  // Never written to.
  provider.read_callback = Callbacks::NextText;
  return provider;
}

}  // namespace casemate::rpc::http2
