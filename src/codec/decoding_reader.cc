#include <utility>
#include <vector>

#include "base/try.h"
#include "codec/zstd.h"

namespace casemate::codec {
namespace {

constexpr size_t kInputBytes = 64 << 10;

class DecodingReader : public Reader {
 public:
  DecodingReader(std::unique_ptr<Reader> encoded, int64_t max_size)
      : encoded_(std::move(encoded)), decoder_(max_size), input_(kInputBytes) {}

  Result<size_t> Read(const Context& ctx,
                      std::span<std::byte> buffer) override {
    while (true) {
      // Before more input: what the decoder still holds back.
      ASSIGN_OR_RETURN(const Step step, decoder_.Decode(pending_, buffer));
      pending_ = pending_.subspan(step.consumed);
      if (step.produced > 0) return step.produced;
      if (step.consumed > 0) continue;
      ASSIGN_OR_RETURN(const size_t got, encoded_->Read(ctx, input_));
      if (got == 0) return End();
      pending_ = std::span(input_).first(got);
    }
  }

 private:
  Result<size_t> End() const {
    if (decoder_.at_border()) return size_t{0};
    return Error{Code::kDataLoss,
                 "decompress with zstd: the stream ends within a frame"};
  }

  const std::unique_ptr<Reader> encoded_;
  Decoder decoder_;
  std::vector<std::byte> input_;
  std::span<const std::byte> pending_;  // Of input_, not yet consumed.
};

}  // namespace

std::unique_ptr<Reader> MakeDecodingReader(std::unique_ptr<Reader> encoded,
                                           int64_t max_size) {
  return std::make_unique<DecodingReader>(std::move(encoded), max_size);
}

}  // namespace casemate::codec
