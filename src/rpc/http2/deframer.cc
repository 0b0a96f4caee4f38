#include "rpc/http2/deframer.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/try.h"

namespace casemate::rpc::http2 {

Result<size_t> Deframer::Take(std::string_view bytes) {
  CASEMATE_CHECK(!ready_);
  size_t taken = 0;
  while (prefix_size_ < kPrefix) {
    if (taken == bytes.size()) return taken;
    prefix_[prefix_size_++] = static_cast<unsigned char>(bytes[taken++]);
    if (prefix_size_ == kPrefix) RETURN_IF_ERROR(BeginMessage());
  }
  const size_t part = std::min(bytes.size() - taken, length_ - stored_);
  RETURN_IF_ERROR(Store(bytes.substr(taken, part)));
  if (stored_ == length_) RETURN_IF_ERROR(EndMessage());
  return taken + part;
}

Result<void> Deframer::BeginMessage() {
  length_ = size_t{prefix_[1]} << 24 | size_t{prefix_[2]} << 16 |
            size_t{prefix_[3]} << 8 | size_t{prefix_[4]};
  if (prefix_[0] > 1) {
    return Error{Code::kInternal,
                 "a message's flag byte is " + std::to_string(prefix_[0])};
  }
  if (prefix_[0] == 1 && coding_ == Coding::kIdentity) {
    return Error{Code::kInternal, "a compressed message without grpc-encoding"};
  }
  if (static_cast<int64_t>(length_) > limit_) {
    return Error{Code::kResourceExhausted,
                 "a message of " + std::to_string(length_) +
                     " bytes; this server takes at most " +
                     std::to_string(limit_)};
  }
  if (prefix_[0] == 1) inflater_ = std::make_unique<Inflater>(coding_, limit_);
  return {};
}

Result<void> Deframer::Store(std::string_view bytes) {
  stored_ += bytes.size();
  if (bytes.empty()) return {};
  if (inflater_) return inflater_->Add(bytes);
  Reserve(stored_);
  std::memcpy(buffer_.get() + stored_ - bytes.size(), bytes.data(),
              bytes.size());
  return {};
}

void Deframer::Reserve(size_t wanted) {
  if (wanted <= capacity_) return;
  const size_t had = capacity_;
  capacity_ = std::min(length_, std::max(kAtOnce, kGrowth * wanted));
  auto larger = std::make_shared_for_overwrite<std::byte[]>(capacity_);
  if (had > 0) std::memcpy(larger.get(), buffer_.get(), had);
  buffer_ = std::move(larger);
}

Result<void> Deframer::EndMessage() {
  ready_ = true;
  if (inflater_) {
    ASSIGN_OR_RETURN(message_, inflater_->Finish());
    inflater_.reset();
  } else if (length_ > 0) {
    const std::span<const std::byte> all(buffer_.get(), length_);
    message_.Append(Bytes::Share(std::move(buffer_), all));
  }
  return {};
}

Message Deframer::Pop() {
  CASEMATE_CHECK(ready_);
  ready_ = false;
  prefix_size_ = 0;
  length_ = stored_ = capacity_ = 0;
  return std::exchange(message_, {});
}

}  // namespace casemate::rpc::http2
