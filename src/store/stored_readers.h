// Readers of the files that BlobFiles opens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "casemate/io.h"
#include "store/blob_files.h"
#include "store/frame_check.h"

namespace casemate::store {

// That the file is not trusted yet, and what its table would be. The reader
// must then see all of it, and hands out the last bytes only if all are right.
struct Unchecked {
  std::optional<BlockTable> table;
};

// The file's bytes as they are, up to `end`.
std::unique_ptr<Reader> MakeStoredReader(BlobFiles& files, StoredFile stored,
                                         int64_t position, int64_t end,
                                         std::optional<Unchecked> unchecked);

// `head`, a frame, and then what `rest` yields, which is frames.
std::unique_ptr<Reader> MakeHeadedReader(Bytes head,
                                         std::unique_ptr<Reader> rest);

// What frames decode to. They begin at `position` in the file, `skip` bytes
// before what is wanted.
struct FrameRange {
  int64_t position = 0;
  int64_t end = 0;
  int64_t skip = 0;
  int64_t size = 0;  // Of what is wanted, to the end of the blob.
};
std::unique_ptr<Reader> MakeDecodedReader(BlobFiles& files, StoredFile stored,
                                          const FrameRange& range,
                                          std::optional<Unchecked> unchecked);

}  // namespace casemate::store
