#include <zstd.h>

#include <string>

#include "base/check.h"
#include "base/try.h"
#include "codec/context_pool.h"
#include "codec/zstd.h"

namespace casemate::codec {
namespace {

// Never destroyed: streams may end while the program does.
ContextPool<ZSTD_CCtx>& Pool() {
  static auto& pool =
      *new ContextPool<ZSTD_CCtx>(&ZSTD_createCCtx, &ZSTD_freeCCtx);
  return pool;
}

ZSTD_CCtx* Get(void* context) { return static_cast<ZSTD_CCtx*>(context); }

}  // namespace

void Encoder::Free::operator()(void* context) const {
  // The tables of a high level are not kept for a stream that may not come.
  constexpr size_t kKeep = 8 << 20;  // Level 3 needs about 4 MiB at most.
  if (ZSTD_sizeof_CCtx(Get(context)) > kKeep) {
    ZSTD_freeCCtx(Get(context));
  } else {
    Pool().Return(Get(context));
  }
}

Encoder::Encoder(int64_t size, int level)
    : context_(Pool().Take()), left_(size) {
  CASEMATE_CHECK(context_ != nullptr && size >= 0);
  ZSTD_CCtx* const context = Get(context_.get());
  ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setPledgedSrcSize(context, static_cast<unsigned long long>(size));
}

Encoder::Encoder(Encoder&&) noexcept = default;
Encoder::~Encoder() = default;

Result<Step> Encoder::Encode(std::span<const std::byte> input,
                             std::span<std::byte> output, bool last) {
  // zstd itself forgets the pledge when all comes in one piece.
  const auto offered = static_cast<int64_t>(input.size());
  if (offered > left_ || (last && offered < left_)) {
    return Error{Code::kInvalidArgument,
                 "compress with zstd: not the number of bytes announced"};
  }
  ZSTD_inBuffer in = {input.data(), input.size(), 0};
  ZSTD_outBuffer out = {output.data(), output.size(), 0};
  const size_t left = ZSTD_compressStream2(Get(context_.get()), &out, &in,
                                           last ? ZSTD_e_end : ZSTD_e_continue);
  if (ZSTD_isError(left)) {
    return Error{Code::kInternal,
                 std::string("compress with zstd: ") + ZSTD_getErrorName(left)};
  }
  left_ -= static_cast<int64_t>(in.pos);
  done_ = last && left == 0;
  return Step{in.pos, out.pos};
}

Result<size_t> EncodeFrame(std::span<const std::byte> input,
                           std::span<std::byte> output, int level) {
  // With room for all, zstd needs neither a window nor a second call.
  Encoder encoder(static_cast<int64_t>(input.size()), level);
  ASSIGN_OR_RETURN(const Step step, encoder.Encode(input, output, true));
  if (encoder.done()) return step.produced;
  return Error{Code::kInternal, "compress with zstd: too little room"};
}

size_t EncodedBound(size_t size) { return ZSTD_compressBound(size); }

}  // namespace casemate::codec
