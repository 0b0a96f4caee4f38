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

// Blob bytes into one frame, at level 3, which names the blob's size in its
// header. The context comes from a pool and goes back to it at the end. One
// thread.
class Encoder {
 public:
  // Exactly `size` bytes must go in.
  explicit Encoder(int64_t size);
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
  // frames hold more than max_size bytes.
  Result<Step> Decode(std::span<const std::byte> input,
                      std::span<std::byte> output);

  // Whether the input may end here: no frame is under way.
  bool at_border() const { return at_border_; }

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;  // ZSTD_DCtx.
  int64_t left_;                         // May still come out.
  bool at_border_ = true;
};

// Yields the identity bytes of a zstd reader, which it owns. `max_size` is as
// in Decoder. kDataLoss if the stream ends within a frame.
std::unique_ptr<Reader> MakeDecodingReader(std::unique_ptr<Reader> encoded,
                                           int64_t max_size);

}  // namespace casemate::codec
