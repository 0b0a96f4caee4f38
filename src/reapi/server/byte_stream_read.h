// ByteStream.Read: one call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "codec/zstd.h"
#include "reapi/server/admission.h"
#include "reapi/server/byte_stream.h"
#include "reapi/wire/resource_name.h"
#include "rpc/call.h"

namespace casemate::reapi {

// Opens the blob, then sends it message by message: each is filled in place if
// its bytes are at hand, else by a task of the pool, which also sends it. The
// last one goes together with the status.
class ReadCall : public rpc::Handler {
 public:
  ReadCall(const StreamParts& parts, rpc::Call& call);

  void OnMessage(rpc::Message message) override;
  void OnHalfClose() override;
  void OnSent() override;
  void OnWake() override;

 private:
  // How the blob leaves.
  enum class Form {
    kPlain,   // Its own bytes.
    kStored,  // The store's zstd, byte for byte.
    kEncode,  // As a frame made here.
  };
  // Where what has to be done may be done.
  enum class Place { kWire, kPool };

  Result<void> Parse(const rpc::Message& message);
  void Open();
  void OpenOnPool();
  void Begin(Result<std::unique_ptr<Reader>> reader, Place place);

  void Pump(Place place);
  bool Admit();
  int64_t Need() const;
  void Fill(Place place);
  void FillOnPool();

  // One turn of filling; false: it needs the pool, or the call has ended.
  bool FillPlain(Place place);
  bool FillEncoded(Place place);
  bool TakeNext(Place place, size_t most, Bytes& next);
  bool ConfirmEnd(Place place);
  bool Encode(const Bytes& input, bool last);

  void Append(Bytes piece);
  void Send();
  void Fail(Error error);
  bool FailTruncated();  // False.
  int64_t left() const { return end_ - position_; }

  const StreamParts& parts_;
  rpc::Call& call_;
  std::string resource_;
  ResourceName name_;  // Refers to it.
  const Backend* backend_ = nullptr;
  Form form_ = Form::kPlain;
  int64_t position_ = 0;  // Of the blob's own bytes, unless kStored.
  int64_t end_ = 0;       // Where reading stops: the limit or the blob's size.
  int64_t limit_ = 0;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<codec::Encoder> encoder_;

  Admission::Turn turn_;
  Admission::Lease lease_;  // Of the message that is filled or being sent.
  // The message that is being filled: mostly one piece.
  Bytes first_;
  std::vector<Bytes> more_;
  size_t filled_ = 0;
  bool at_end_ = false;  // Nothing follows it.
  Bytes input_;          // Taken from the reader, not encoded yet.
};

}  // namespace casemate::reapi
