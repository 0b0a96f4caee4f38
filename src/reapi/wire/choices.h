// What the protocol leaves open and this project fixes. One place: change it
// here. The numbers are those of the rules; docs/conformance.md lists them all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "casemate/result.h"

namespace casemate::reapi {

// --- Sizes ---

// What peers receive by default: no message of ours is larger, but for a single
// Directory that is larger by itself.
inline constexpr size_t kPeerMessageLimit = size_t{4} << 20;
inline constexpr size_t kMessageMargin = size_t{64} << 10;

// Of the digests' sizes in one batch (R-115, R-116, R-126, D-19). Advertised.
inline constexpr int64_t kMaxBatchTotalBytes = 4'000'000;

// Of one message of a ByteStream answer.
inline constexpr size_t kStreamMessageBytes = size_t{1} << 20;

// Digests in one FindMissingBlobs, and items in one batch; beyond them
// kInvalidArgument. The receive limit is usually reached first.
inline constexpr size_t kMaxDigestsPerRequest = size_t{1} << 20;

// Longest instance name and resource name (bytes).
inline constexpr size_t kMaxNameBytes = 4096;

// An upload that comes whole in one message and is no larger is stored together
// with others; one that comes in several is gathered for that up to the second
// size. Larger ones are streams, which can be resumed.
inline constexpr int64_t kSmallBytes = int64_t{128} << 10;
inline constexpr int64_t kGatheredBytes = int64_t{64} << 10;

// Of zstd frames beyond 16 bytes for each of the blob's: frames that hold
// nothing are legal, and could go on for ever.
inline constexpr int64_t kFrameSlack = int64_t{1} << 20;

// --- Versions ---

// Of the protocol, as advertised.
inline constexpr int kLowApiMajor = 2;
inline constexpr int kLowApiMinor = 0;
inline constexpr int kHighApiMajor = 2;
inline constexpr int kHighApiMinor = 12;

// --- Times ---

// How long an answer waits, after the last message of an upload, to hear that
// nothing follows it.
inline constexpr std::chrono::milliseconds kAfterFinish{200};

// How long an upload that is to be continued waits until the call that still
// holds it has let go.
inline constexpr std::chrono::milliseconds kPredecessorPatience{5000};

// --- Statuses ---

inline constexpr Code kMalformed = Code::kInvalidArgument;
inline constexpr Code kWrongSize = Code::kNotFound;
inline constexpr Code kUnknownFunction =
    Code::kInvalidArgument;
inline constexpr Code kBadInstance =
    Code::kInvalidArgument;
inline constexpr Code kUnknownCompressor =
    Code::kInvalidArgument;
inline constexpr Code kBadOffset =
    Code::kInvalidArgument;
inline constexpr Code kBadUpload =
    Code::kInvalidArgument;
inline constexpr Code kTooLarge = Code::kInvalidArgument;
inline constexpr Code kTruncatedBlob = Code::kDataLoss;
inline constexpr Code kIncompleteResult = Code::kNotFound;

// --- Behaviour ---
//
// Choices that are not a number stand in the code of the service they belong
// to; which way they went:
//
// R-012  A digest that is asked for twice is listed once, and answered twice.
// R-018  Size 0 with another hash than the empty one is an unknown blob; its
//        upload is a mismatch.
// R-020  The empty blob as zstd: no bytes at all.
// R-027  A FUNCTION segment that need not be there is accepted if it fits.
// R-052  A resource-name header that differs from the request is refused.
// R-061  Any number of frames is decoded; what is encoded here is one frame.
// R-062  The decoder's window is at most 128 MiB; no content size is needed.
// R-065  An upload may begin anew at 0 whatever was kept of it (D-10); any
//        other offset must be the one that QueryWriteStatus answers.
// R-069  Without finish_write nothing is committed, even if all is there
// (D-09). R-081  One name twice at once is two uploads; one that goes on at an
// offset
//        takes over from the call that still holds it.
// R-089  A call without any message is malformed.
// R-090  What is kept of broken uploads: store::PartialWriteLimits, by number,
//        bytes and age; names of at most 1,024.
// R-099  One frame a message, many, or one over many messages are all the same.
// R-100  An upload is continued with a new frame at the uncompressed offset.
// R-101  An unknown upload is kNotFound (D-07); a stored blob is complete under
//        any name.
// R-107  QueryWriteStatus takes upload names alone.
// R-122  One answer for each item, in the order asked (D-20).
// R-152  Uploads are bytes: nothing looks whether they are a Directory.
// R-232  Unknown fields and enum values do not matter, but for digest functions
//        and compressors.

// What a finished compressed write reports (R-095, D-01).
enum class CommittedSize : uint8_t {
  kCompressed,  // First offset and compressed bytes received: Bazel, Buck2.
  kSize,        // The blob's size: Siso.
};

}  // namespace casemate::reapi
