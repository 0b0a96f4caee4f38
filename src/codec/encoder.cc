#include <zstd.h>

#include <string>

#include "base/check.h"
#include "codec/context_pool.h"
#include "codec/zstd.h"

namespace casemate::codec {
namespace {

constexpr int kLevel = 3;

// Never destroyed: streams may end while the program does.
ContextPool<ZSTD_CCtx>& Pool() {
  static auto& pool =
      *new ContextPool<ZSTD_CCtx>(&ZSTD_createCCtx, &ZSTD_freeCCtx);
  return pool;
}

ZSTD_CCtx* Get(void* context) { return static_cast<ZSTD_CCtx*>(context); }

}  // namespace

void Encoder::Free::operator()(void* context) const {
  Pool().Return(Get(context));
}

Encoder::Encoder(int64_t size) : context_(Pool().Take()), left_(size) {
  CASEMATE_CHECK(context_ != nullptr && size >= 0);
  ZSTD_CCtx* const context = Get(context_.get());
  ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel);
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

}  // namespace casemate::codec
