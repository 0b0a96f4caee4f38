// Readers and sources over bytes in memory, and ways to read others.
#pragma once

#include <cstdint>
#include <memory>

#include "casemate/bytes.h"
#include "casemate/digest.h"
#include "casemate/io.h"

namespace casemate::store {

// `offset` must not exceed the size.
std::unique_ptr<Reader> MakeBytesReader(Bytes bytes, size_t offset);

std::unique_ptr<Source> MakeBytesSource(Bytes bytes);

// A reader of the source's blob from its start, decoded if it is encoded; it
// yields at most about `max_size` bytes (see codec::Decoder). The reader must
// not outlive the source.
Result<std::unique_ptr<Reader>> OpenIdentity(const Context& ctx,
                                             const Source& source,
                                             int64_t max_size);

// All that an identity reader yields: kDataLoss unless it is `size` bytes.
// Memory grows with what arrives, not with what was announced.
Result<Bytes> ReadAll(const Context& ctx, Reader& reader, int64_t size);

// kOutOfRange unless a blob can be read from there.
Result<void> CheckOffset(const Digest& digest, int64_t offset);

// The ordinary kNotFound.
Error Absent(const Digest& digest);

}  // namespace casemate::store
