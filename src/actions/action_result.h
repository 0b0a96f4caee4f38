// ActionResult messages, on their bytes: what they refer to, and what is
// inlined in them. They are never parsed and written anew, so that fields which
// we do not know, and their order, stay as they came.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "casemate/blob.h"
#include "casemate/bytes.h"
#include "casemate/digest.h"
#include "casemate/result.h"

namespace casemate::actions {

enum class OutputKind : uint8_t {
  kBlob,       // An output file, stdout or stderr.
  kTree,       // A Tree message.
  kDirectory,  // A Directory message.
};

using OnOutput =
    std::function<Result<void>(OutputKind kind, const Digest& digest)>;

// Tells of each digest in `result`. kInvalidArgument if it is no ActionResult,
// or a digest is malformed or not of `function`; or the error of `on_output`,
// which ends the scan.
Result<void> ScanResult(DigestFunction function, const Bytes& result,
                        const OnOutput& on_output);

// A result as it shall be kept.
struct CheckedResult {
  Bytes result;               // As it came, unless something was inlined.
  std::vector<Blob> inlined;  // What was, verified: to be stored first.
};

// Checks what a client wants to have kept: paths are relative,
// digests well formed, what we know of it is UTF-8 and can be parsed. Inlined
// contents are taken out and replaced by their digests; kInvalidArgument if
// they had another one.
Result<CheckedResult> CheckResult(DigestFunction function, const Bytes& result);

// Which blobs somebody would like to have inlined.
struct InlineWishes {
  bool stdout_blob = false;
  bool stderr_blob = false;
  std::vector<std::string_view> output_files = {};  // Exact paths.

  bool empty() const {
    return !stdout_blob && !stderr_blob && output_files.empty();
  }
};

// One of them, as it stands in a result.
struct Inlineable {
  enum Kind : uint8_t { kStdout, kStderr, kFile } kind = kFile;
  size_t field = 0;  // Of a file: the how-manieth field of the message.
  Digest digest;
  Bytes data;  // To be filled in.
};

// Those of `wishes` that `result` has and that together keep it below
// `max_bytes`; empty blobs are left out. stdout first, then stderr, then files
// in their order. kInvalidArgument as ScanResult.
Result<std::vector<Inlineable>> FindInlineable(DigestFunction function,
                                               const Bytes& result,
                                               const InlineWishes& wishes,
                                               size_t max_bytes);

// The message with the data of `blobs`, in pieces that share all large bytes.
// Those without data are left out.
std::vector<Bytes> WithInlined(const Bytes& result,
                               std::span<const Inlineable> blobs);

}  // namespace casemate::actions
