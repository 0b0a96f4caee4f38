// Blobs to measure a REAPI server with, and the loads that move them.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/rpc_load.h"
#include "casemate/digest.h"

namespace casemate::bench {

inline constexpr size_t kSmallBlob = 4096;

// Noise of kSmallBlob bytes each, with digests. No two calls make the same.
struct SmallBlobs {
  std::vector<std::string> contents;
  std::vector<Digest> digests;
};
SmallBlobs MakeSmallBlobs(int count);

// The one message of each call, taken in turn.
using Messages = std::vector<grpc::ByteBuffer>;
Load Unary(const std::string& path, std::shared_ptr<const Messages> messages,
           int calls, int width);

// Requests for such blobs: one blob each, or `batch` of them.
Messages Reads(const SmallBlobs& blobs);
Messages Writes(const SmallBlobs& blobs);
Messages BatchReads(const SmallBlobs& blobs, size_t batch);
Messages BatchUpdates(const SmallBlobs& blobs, size_t batch);
Messages FindMissing(const SmallBlobs& blobs);  // One for all of them.

inline constexpr char kRead[] = "/google.bytestream.ByteStream/Read";
inline constexpr char kWrite[] = "/google.bytestream.ByteStream/Write";
std::string CasMethod(const std::string& name);  // Its path.

// "uploads/UUID/" and one that nobody had before.
std::string UploadPrefix();

// A message of one upload.
grpc::ByteBuffer WriteMessage(const std::string& resource, int64_t offset,
                              bool finish, const grpc::Slice& data);
grpc::ByteBuffer ReadMessage(const std::string& resource);

// A blob too large to be made for each upload anew: its first bytes differ from
// one call of Renew to the next, the rest is always the same.
class LargeBlob {
 public:
  // Noise, uploaded as it is; or text that zstd makes a third of, uploaded as
  // zstd. `size` in bytes, whole MiB.
  enum class Kind { kNoise, kText };
  LargeBlob(Kind kind, int64_t size);

  void Renew();
  const Digest& digest() const { return digest_; }
  std::string read_name() const;  // Its resource, in the same form.

  // One upload; of what Renew made last when it is run. Lives no longer than
  // this.
  Load Upload() const;
  Load Read(int calls, int width) const;

 private:
  void MakeNoise();
  void MakeText();
  grpc::ByteBuffer MessageOfUpload(size_t number) const;

  const Kind kind_;
  const int64_t size_;
  std::string first_;  // Of the blob; what Renew changes.
  std::string rest_;   // Follows it, as often as `repeats_` says.
  int64_t repeats_ = 1;
  Digest digest_;
  std::string upload_name_;
  std::vector<grpc::Slice> slices_;  // As uploaded, a message each.
};

}  // namespace casemate::bench
