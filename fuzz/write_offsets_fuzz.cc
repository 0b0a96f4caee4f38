// Sequences of Write messages: whatever offsets, lengths, cuts, resumptions and
// cancellations come, a blob is there only after all of its bytes came in
// order, every wrong offset is refused, and nothing is held afterwards.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/check.h"
#include "casemate/stores.h"
#include "digest/hasher.h"
#include "reapi/server/byte_stream.h"
#include "reapi/wire/bytestream_messages.h"
#include "reapi/wire/resource_name.h"
#include "testing/direct_call.h"

namespace {

using namespace casemate;
using testing::DirectCall;

class NoActions : public actions::ActionCache {
 public:
  Result<Bytes> Get(const Context&, const actions::ActionKey&) override {
    return Error{Code::kNotFound, ""};
  }
  Result<void> Update(const Context&, const actions::ActionKey&,
                      const Bytes&) override {
    return {};
  }
};

// Of a blob of `size` bytes, some of which are gathered and some streamed.
class Scene {
 public:
  explicit Scene(size_t size) {
    for (size_t i = 0; i < size; ++i) {
      text_ += static_cast<char>(i * 7 + i / 256);
    }
    digest_ = digest::Hash(DigestFunction::kSha256, AsBytes(text_));
    reapi::ResourceName name;
    name.uuid = "u";
    name.digest = digest_;
    name_ = reapi::FormatWriteName(name);
  }

  ~Scene() {
    call_.reset();
    CASEMATE_CHECK(admission_.used() == 0 && arrivals_.waiting() == 0);
    CASEMATE_CHECK(service_.uploads().under_way() == 0);
  }

  // One step, as three bytes say.
  void Step(uint8_t what, uint8_t offset, uint8_t length) {
    if (call_ == nullptr || call_->ended()) return Begin(what, offset, length);
    if (!call_->reading()) return Cancel();
    switch (what % 8) {
      case 6: return HalfClose();
      case 7: return Cancel();
      default: return Send(what, offset, length);
    }
  }

 private:
  void Begin(uint8_t what, uint8_t offset, uint8_t length) {
    call_ = std::make_unique<DirectCall>(service_, "Write");
    // From the beginning, from where it was left, or from anywhere.
    const size_t mode = what % 4;
    first_ = mode < 2 ? 0 : mode == 2 ? kept_ : Scale(offset);
    at_ = first_;
    named_ = false;
    finished_ = false;
    Send(what / 4, 0, length);
  }

  void Send(uint8_t what, uint8_t offset, uint8_t length) {
    reapi::WriteRequest request;
    if (!named_) request.resource_name = name_;
    const bool wrong = named_ && what % 8 == 5;
    request.write_offset = static_cast<int64_t>(wrong ? Scale(offset) : at_);
    request.finish_write = what % 8 == 4;
    std::string data = text_.substr(std::min(at_, text_.size()), Scale(length));
    if (what % 8 == 3) data += "too much";
    const bool refused = Refuses(request, data);
    named_ = true;
    at_ += data.size();
    rpc::Message message(reapi::WriteRequestHead(request, data.size()));
    message.Append(Bytes::FromString(data));
    call_->Send(std::move(message));
    finished_ = request.finish_write;
    Check(refused, data);
  }

  bool Refuses(const reapi::WriteRequest& request, const std::string& data) {
    if (Stored()) return false;  // Then anything may end well.
    if (finished_) return true;
    if (named_ && request.write_offset != static_cast<int64_t>(at_))
      return true;
    if (!named_ && first_ != 0 && first_ != kept_) return true;
    return at_ + data.size() > text_.size();
  }

  void Check(bool refused, const std::string&) {
    if (refused) {
      CASEMATE_CHECK(call_->ended());
      CASEMATE_CHECK(call_->status().code == Code::kInvalidArgument);
    }
    if (Stored()) return CheckBlob();
    kept_ = Kept();
  }

  void HalfClose() {
    const bool was_stored = Stored();
    call_->HalfClose();
    CASEMATE_CHECK(call_->ended());
    if (!was_stored && !finished_) CASEMATE_CHECK(!Stored());
    kept_ = Kept();
    if (!was_stored && !finished_) CASEMATE_CHECK(kept_ == at_);
  }

  void Cancel() {
    const bool was_stored = Stored();
    call_->Cancel();
    CASEMATE_CHECK(was_stored == Stored());
    kept_ = Kept();
  }

  // What a client would be told.
  size_t Kept() {
    if (Stored()) return 0;
    DirectCall query(service_, "QueryWriteStatus");
    query.Send(rpc::Message(reapi::FormatQueryWriteStatusRequest(name_)));
    query.HalfClose();
    CASEMATE_CHECK(query.ended());
    if (query.answers().empty()) return 0;
    const auto status =
        reapi::ParseQueryWriteStatusResponse(query.answers().front().pieces());
    CASEMATE_CHECK(!status->complete);
    return static_cast<size_t>(status->committed_size);
  }

  bool Stored() { return store_->FindMissing({}, {&digest_, 1})->empty(); }

  void CheckBlob() {
    const auto blobs = store_->GetMany({}, {&digest_, 1});
    CASEMATE_CHECK(blobs[0] && blobs[0]->bytes().view() == text_);
  }

  size_t Scale(uint8_t part) const { return text_.size() * part / 250; }

  std::string text_;
  Digest digest_;
  std::string name_;
  const std::unique_ptr<BlobStore> store_ = MakeMemoryStore();
  NoActions actions_;
  reapi::SharedBackends backends_{{*store_, actions_}};
  reapi::Admission admission_{1 << 20};
  reapi::Arrivals arrivals_;
  work::Pool pool_{"fuzz", 1};
  reapi::ByteStream service_{{backends_, {}, admission_, arrivals_, pool_}};

  std::unique_ptr<DirectCall> call_;
  size_t first_ = 0, at_ = 0, kept_ = 0;
  bool named_ = false, finished_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  constexpr size_t kSizes[] = {1, 250, 70000, 150000, 250, 1000, 1000, 250};
  Scene scene(kSizes[data[0] % 8]);
  for (size_t i = 1; i + 2 < size && i < 200; i += 3) {
    scene.Step(data[i], data[i + 1], data[i + 2]);
  }
  return 0;
}
