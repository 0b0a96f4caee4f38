// zstd (RFC 8878) as a stream: Encoder, Decoder, and a Reader that decodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "casemate/io.h"

namespace casemate::codec {

// How far one step of an Encoder or a Decoder came.
struct Step {
  size_t consumed = 0;  // Of the input.
  size_t produced = 0;  // Of the output.
};

inline constexpr int kDefaultLevel = 3;

// Blob bytes into one frame, which names the blob's size in its header. The
// context comes from a pool and goes back to it at the end. One thread.
class Encoder {
 public:
  // Exactly `size` bytes must go in.
  explicit Encoder(int64_t size, int level = kDefaultLevel);
  Encoder(Encoder&&) noexcept;
  ~Encoder();

  // Call with all of the input, in pieces, while input remains; `last` with the
  // last piece, again and again until done(). kInvalidArgument if more or fewer
  // bytes go in than were pledged.
  Result<Step> Encode(std::span<const std::byte> input,
                      std::span<std::byte> output, bool last);

  bool done() const { return done_; }

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;  // ZSTD_CCtx.
  int64_t left_;                         // Still to go in.
  bool done_ = false;
};

// The same at once: all of `input`, into an output of EncodedBound bytes. How
// many it took.
Result<size_t> EncodeFrame(std::span<const std::byte> input,
                           std::span<std::byte> output,
                           int level = kDefaultLevel);
size_t EncodedBound(size_t size);

// Any number of frames, one after the other, into blob bytes. Foreign bytes
// cost bounded memory: the window is at most 128 MiB, and is allocated only
// when a frame asks for it; and bounded time: nothing is produced beyond the
// size given. The context is pooled. One thread.
class Decoder {
 public:
  explicit Decoder(int64_t max_size);
  Decoder(Decoder&&) noexcept;
  ~Decoder();

  // Consumes and produces what it can. Output of a full buffer may be followed
  // by more without more input. kDataLoss for what is not zstd, and once the
  // frames hold more than max_size bytes; exceeded() tells the two apart.
  Result<Step> Decode(std::span<const std::byte> input,
                      std::span<std::byte> output);

  // Whether the input may end here: no frame is under way.
  bool at_border() const { return at_border_; }

  bool exceeded() const { return exceeded_; }

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;  // ZSTD_DCtx.
  int64_t left_;                         // May still come out.
  bool at_border_ = true;
  bool exceeded_ = false;
};

// Yields the identity bytes of a zstd reader, which it owns. `max_size` is as
// in Decoder. kDataLoss if the stream ends within a frame.
std::unique_ptr<Reader> MakeDecodingReader(std::unique_ptr<Reader> encoded,
                                           int64_t max_size);

}  // namespace casemate::codec
