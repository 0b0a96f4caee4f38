// Stream: one call of a peer, on its connection.
#pragma once

#include <nghttp2/nghttp2.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rpc/call_core.h"
#include "rpc/http2/connection.h"
#include "rpc/http2/incoming.h"
#include "rpc/http2/outgoing.h"
#include "rpc/http2/request_head.h"
#include "rpc/http2/timers.h"
#include "work/budget.h"

namespace casemate::rpc::http2 {

// Its handler runs on the loop's thread alone. What a task asks for on the pool
// is left in slots and done by the loop, together with the end of the task.
//
// Attached to its connection until the stream is closed, however that comes;
// detached, it does nothing but hear the handler's end.
class Stream final : public CallCore, private Timer, private Posted {
 public:
  // Attaches itself. Begin or Reject is next.
  Stream(Shared& shared, Loop& loop, Connection& connection, int32_t id,
         RequestHead& head);

  // Ends it without a handler.
  void Reject(const Status& status);

  const char* content_type() const {  // What the client sent.
    return proto_suffix_ ? "application/grpc+proto" : "application/grpc";
  }
  bool unknown_coding() const { return unknown_coding_; }

  // From the connection.
  void OnData(std::string_view bytes);
  void OnEnd();                  // END_STREAM.
  void OnClosed(uint32_t code);  // Detaches it.

  // For nghttp2: how many bytes may be sent now, at most `most`.
  ssize_t NextPart(size_t most, uint32_t& flags);
  void Emit(Output& output, size_t count);
  void TellSent();

 private:
  friend class Connection;

  // What the handler asked for on another thread.
  enum Ask : uint32_t {
    kRead = 1,
    kWrite = 2,
    kFinish = 4,
    kAbort = 8,
    kResume = 16,
  };

  ~Stream() override;

  void WireRead() override;
  void WireWrite(Message message) override;
  void WireFinish(const Status& status, Message* last) override;
  void WireAbort() override;
  void Resume() override;

  void AskLoop(Ask what);
  void RunPosted() override;
  void OnTime() override;  // The deadline.

  void ReadNow();
  void WriteNow(Message message);
  void FinishNow();
  void AbortNow();
  void Send();
  void SubmitTrailers();
  void Deliver();
  void Fail(Status why);
  void GiveCredit();
  void GrowWindow(size_t taken);
  void DropIncoming();
  void Detach();

  Shared& shared_;
  Loop& loop_;
  const int32_t id_;
  const bool proto_suffix_;
  const bool unknown_coding_;

  std::atomic<uint32_t> asked_{0};
  Message asked_write_, asked_last_;
  const Status* end_ = nullptr;  // The core's, once it has finished.
  bool has_last_ = false;

  // The loop's from here on.
  Connection* connection_;  // Null once it is detached.
  Stream* previous_ = nullptr;
  Stream* next_ = nullptr;

  Incoming incoming_;
  bool reading_ = false;
  bool half_closed_ = false;
  bool deaf_ = false;  // Drops what comes.

  Outgoing outgoing_;
  bool writing_ = false;    // Owes an OnSent.
  bool finishing_ = false;  // The status follows what is outgoing.
  bool head_sent_ = false;  // Submitted, that is.
  bool end_sent_ = false;   // The trailers were submitted.
  bool waiting_ = false;    // nghttp2 waits for Continue.
  bool noted_ = false;      // On the connection's list of what was sent.

  uint32_t window_;
  size_t taken_ = 0;  // Since the window last grew.
  work::Lease grown_;
};

}  // namespace casemate::rpc::http2
