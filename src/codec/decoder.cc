#include <zstd.h>

#include <algorithm>
#include <string>

#include "base/check.h"
#include "codec/context_pool.h"
#include "codec/zstd.h"

namespace casemate::codec {
namespace {

constexpr int kWindowLog = 27;  // 128 MiB, as the zstd tools accept.

// Never destroyed: streams may end while the program does.
ContextPool<ZSTD_DCtx>& Pool() {
  static auto& pool =
      *new ContextPool<ZSTD_DCtx>(&ZSTD_createDCtx, &ZSTD_freeDCtx);
  return pool;
}

ZSTD_DCtx* Get(void* context) { return static_cast<ZSTD_DCtx*>(context); }

}  // namespace

void Decoder::Free::operator()(void* context) const {
  // A window of up to 128 MiB is not kept for a stream that may never come.
  constexpr size_t kKeep = 4 << 20;  // Level 3 needs about 2 MiB.
  if (ZSTD_sizeof_DCtx(Get(context)) > kKeep) {
    ZSTD_freeDCtx(Get(context));
  } else {
    Pool().Return(Get(context));
  }
}

Decoder::Decoder(int64_t max_size) : context_(Pool().Take()), left_(max_size) {
  CASEMATE_CHECK(context_ != nullptr && max_size >= 0);
  ZSTD_DCtx_reset(Get(context_.get()), ZSTD_reset_session_and_parameters);
  ZSTD_DCtx_setParameter(Get(context_.get()), ZSTD_d_windowLogMax, kWindowLog);
}

Decoder::Decoder(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

Result<Step> Decoder::Decode(std::span<const std::byte> input,
                             std::span<std::byte> output) {
  // With nothing left to expect, one byte of room shows a stream that goes on.
  std::byte excess[1];
  if (left_ == 0) output = excess;
  ZSTD_inBuffer in = {input.data(), input.size(), 0};
  ZSTD_outBuffer out = {output.data(), output.size(), 0};
  if (left_ > 0 && static_cast<uint64_t>(left_) < output.size()) {
    out.size = static_cast<size_t>(left_);
  }
  const size_t hint = ZSTD_decompressStream(Get(context_.get()), &out, &in);
  if (ZSTD_isError(hint)) {
    return Error{Code::kDataLoss, std::string("decompress with zstd: ") +
                                      ZSTD_getErrorName(hint)};
  }
  if (left_ == 0 && out.pos > 0) {
    exceeded_ = true;
    return Error{Code::kDataLoss,
                 "decompress with zstd: there are more bytes than announced"};
  }
  left_ -= static_cast<int64_t>(out.pos);
  if (in.pos > 0 || out.pos > 0) at_border_ = hint == 0;
  return Step{in.pos, out.pos};
}

}  // namespace casemate::codec
