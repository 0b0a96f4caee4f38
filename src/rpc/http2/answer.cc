// The part of Connection that answers: heads, trailers, windows, resets.
#include <array>
#include <deque>
#include <string>
#include <vector>

#include "rpc/http2/callbacks.h"
#include "rpc/http2/connection.h"
#include "rpc/http2/stream.h"
#include "rpc/http2/text.h"

namespace casemate::rpc::http2 {
namespace {

uint8_t* Pointer(std::string_view text) {
  return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
}

// nghttp2 does not write to it. What is `Fixed` lives as long as the process.
constexpr uint8_t kFixed =
    NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;

nghttp2_nv Field(std::string_view name, std::string_view value, uint8_t flags) {
  return {Pointer(name), Pointer(value), name.size(), value.size(), flags};
}

// Header fields in their order; the list lives until nghttp2 has copied them.
class Fields {
 public:
  void AddFixed(std::string_view name, std::string_view value) {
    fields_.push_back(Field(name, value, kFixed));
  }

  // Not worth a place in the peer's table.
  void AddRare(std::string_view name, std::string value) {
    values_.push_back(std::move(value));
    fields_.push_back(Field(name, values_.back(), NGHTTP2_NV_FLAG_NO_INDEX));
  }

  void AddAll(const Metadata& metadata) {
    for (const auto& [name, value] : metadata) {
      AddRare(name, name.ends_with("-bin") ? ToBase64(value) : value);
    }
  }

  void AddHead(const Stream& stream) {
    AddFixed(":status", "200");
    AddFixed("content-type", stream.content_type());
    if (stream.unknown_coding()) {
      AddFixed("grpc-accept-encoding", "identity,deflate,gzip");
    }
  }

  void AddStatus(const Status& status) {
    AddRare("grpc-status", std::to_string(static_cast<int>(status.code)));
    if (!status.message.empty()) {
      AddRare("grpc-message", PercentEncode(status.message));
    }
    if (!status.details.empty()) {
      AddRare("grpc-status-details-bin", ToBase64(status.details));
    }
  }

  const nghttp2_nv* data() const { return fields_.data(); }
  size_t size() const { return fields_.size(); }

 private:
  std::vector<nghttp2_nv> fields_;
  std::deque<std::string> values_;
};

}  // namespace

void Connection::SubmitHead(const Stream& stream) {
  static const nghttp2_data_provider from_stream = FromStream();
  if (stream.headers().empty()) {  // As most are: nothing is allocated.
    const std::array<nghttp2_nv, 2> fields = {
        Field(":status", "200", kFixed),
        Field("content-type", stream.content_type(), kFixed)};
    nghttp2_submit_response(session_, stream.id_, fields.data(), fields.size(),
                            &from_stream);
  } else {
    Fields fields;
    fields.AddHead(stream);
    fields.AddAll(stream.headers());
    nghttp2_submit_response(session_, stream.id_, fields.data(), fields.size(),
                            &from_stream);
  }
  carrier_.WantsToSend();
}

void Connection::SubmitTrailers(const Stream& stream) {
  const Status& status = *stream.end_;
  if (status.ok() && stream.trailers().empty()) {
    static const nghttp2_nv ok = Field("grpc-status", "0", kFixed);
    nghttp2_submit_trailer(session_, stream.id_, &ok, 1);
  } else {
    Fields fields;
    fields.AddStatus(status);
    fields.AddAll(stream.trailers());
    nghttp2_submit_trailer(session_, stream.id_, fields.data(), fields.size());
  }
  carrier_.WantsToSend();
}

void Connection::SubmitTrailersOnly(const Stream& stream) {
  Fields fields;
  fields.AddHead(stream);
  fields.AddAll(stream.headers());
  fields.AddStatus(*stream.end_);
  fields.AddAll(stream.trailers());
  nghttp2_submit_response(session_, stream.id_, fields.data(), fields.size(),
                          nullptr);
  carrier_.WantsToSend();
}

void Connection::AnswerPlainly(int32_t stream_id, int status) {
  loop_.counters().requests_refused.Add();
  const nghttp2_data_provider text = FromText(
      status == 405 ? "This is a gRPC server: it takes POST alone.\n"
                    : "This is a gRPC server: it takes application/grpc.\n");
  Fields fields;
  fields.AddFixed(":status", status == 405 ? "405" : "415");
  fields.AddFixed("content-type", "text/plain");
  if (status == 405) fields.AddFixed("allow", "POST");
  nghttp2_submit_response(session_, stream_id, fields.data(), fields.size(),
                          &text);
}

void Connection::Continue(int32_t stream_id) {
  nghttp2_session_resume_data(session_, stream_id);
  carrier_.WantsToSend();
}

void Connection::Reset(int32_t stream_id, uint32_t code) {
  if (code != NGHTTP2_NO_ERROR) loop_.counters().resets_out.Add();
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream_id, code);
  carrier_.WantsToSend();
}

// The answer is complete while the peer still sends: it may stop.
void Connection::OnFrameSent(const nghttp2_frame& frame) {
  const bool last = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  switch (frame.hd.type) {
    case NGHTTP2_DATA: idle_frames_.Earn(4); [[fallthrough]];
    case NGHTTP2_HEADERS:
      silent_ = false;
      if (last && nghttp2_session_get_stream_remote_close(
                      session_, frame.hd.stream_id) == 0) {
        Reset(frame.hd.stream_id, NGHTTP2_NO_ERROR);
      }
      break;
    case NGHTTP2_GOAWAY: farewell_sent_ = expelled_; break;
    default: break;
  }
}

// nghttp2 announces credit once half of a window was released. A stream that is
// closed, or half so, needs none; the connection's window does.
void Connection::Release(int32_t stream_id, size_t bytes) {
  if (bytes == 0 || gone_) return;
  if (nghttp2_session_get_stream_remote_close(session_, stream_id) == 0) {
    nghttp2_session_consume_stream(session_, stream_id, bytes);
  }
  nghttp2_session_consume_connection(session_, bytes);
  carrier_.WantsToSend();
}

void Connection::GrowWindow(int32_t stream_id, uint32_t size, uint32_t by) {
  window_ += by;
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<int32_t>(window_));
  if (stream_id == 0) return;
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, stream_id,
                                        static_cast<int32_t>(size));
}

void Connection::ShrinkBy(uint32_t bytes) { GrowWindow(0, 0, 0 - bytes); }

}  // namespace casemate::rpc::http2
