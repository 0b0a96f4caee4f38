// ByteStream.Write: one call.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "reapi/server/admission.h"
#include "reapi/server/byte_stream.h"
#include "reapi/wire/bytestream_messages.h"
#include "reapi/wire/resource_name.h"
#include "rpc/call.h"

namespace casemate::reapi {

// A blob that comes whole in one message, or is small enough to be gathered,
// leaves with a group (SmallWrites); a larger one goes message by message into
// a writer of its store, which verifies it and keeps what was broken off. The
// call ends as soon as the blob exists, whoever brought it.
class WriteCall : public rpc::Handler {
 public:
  WriteCall(const StreamParts& parts, rpc::Call& call);
  ~WriteCall() override;

  void OnMessage(rpc::Message message) override;
  void OnHalfClose() override;
  void OnWake() override;
  void OnCancel() override;

 private:
  enum class State {
    kReceiving,    // Waits for a message, or deals with one.
    kAdmission,    // Waits for memory for data_,
    kPredecessor,  // or for another call to let go of this upload.
    kStored,       // The blob is there: outcome_ is the answer.
    kDraining,     // What still comes is dropped (D-02).
  };
  // Something that may block.
  using Step = void (WriteCall::*)();

  // --- A message comes in.
  Result<void> Accept(WriteRequest request);
  Result<void> AcceptFirst(WriteRequest& request);
  Result<void> CheckOffset(int64_t write_offset) const;
  Result<void> CheckLength() const;
  void Drain(const WriteRequest& request);
  int64_t DecoderBytes() const;
  void Admit();
  void Proceed();

  // --- What is done with it.
  void Do(Step step);
  void DoStep();
  void Begin();
  void BeginUpload();
  bool Claim();
  void GatherOrFeed();
  bool CanGather();
  void Gather();
  bool OpenWriter();
  Result<std::unique_ptr<Writer>> StartWrite();
  bool WriteOut(const Slices& data);
  bool WriteGathered();
  void Feed();
  void Commit();
  void EndIncomplete();
  bool IsWholeSmall() const;
  void StoreSmall(Bytes data);
  void EndSmall();

  // --- How it ends.
  void Stored(bool existed_before);
  void Answer(int64_t committed_size);
  void EndEarly();
  void Fail(Error error);
  void FailWriting(Error error);
  void LetGo(Error error);
  void DropWriter();
  void LeaveWriter();
  void ReleaseBytes();
  void Next();
  void Read();

  int64_t size() const { return name_.digest.size(); }
  bool zstd() const { return name_.encoding == Encoding::kZstd; }
  int64_t count() const { return first_offset_ + received_; }
  bool never_waits() const {
    return backend_ != nullptr && backend_->store.NeverWaits();
  }

  const StreamParts& parts_;
  rpc::Call& call_;
  std::string resource_;
  ResourceName name_;  // Refers to it.
  const Backend* backend_ = nullptr;

  State state_ = State::kReceiving;
  bool reading_ = false;                         // A Read is unanswered.
  bool begun_ = false;                           // The first message came,
  bool upload_begun_ = false;                    // and is dealt with.
  bool finish_ = false;                          // The last message came,
  bool half_closed_ = false;                     // and nothing after it.
  int64_t first_offset_ = 0;                     // In bytes of the blob.
  int64_t received_ = 0;                         // In bytes as they come.
  int64_t outcome_ = 0;                          // committed_size.
  std::chrono::steady_clock::time_point until_;  // kPredecessor, kStored.
  Step step_ = nullptr;

  Slices data_;             // Of the message that is dealt with,
  Admission::Lease lease_;  // and its memory.
  std::string gathered_;    // Of the messages before,
  Admission::Lease gathered_lease_;
  Admission::Lease decoder_lease_;  // What decoding takes, to the end.
  Admission::Turn turn_;

  std::shared_ptr<SmallWrite> small_;
  std::unique_ptr<Arrivals::Wait> arrival_;
  std::unique_ptr<Uploads::Claim> claim_;
  std::unique_ptr<Writer> writer_;  // Ends before the claim does.
};

}  // namespace casemate::reapi
