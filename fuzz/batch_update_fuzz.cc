// BatchUpdateBlobs requests: the first byte says where the wire cuts the rest.
// What the hand-written parser takes, the generated one takes and understands
// in the same way; and cuts make no difference.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "casemate/bytes.h"
#include "reapi/wire/batch_messages.h"

namespace {

namespace re = build::bazel::remote::execution::v2;
using casemate::Bytes;
using casemate::reapi::BatchUpdateRequest;

void CheckSame(const BatchUpdateRequest& ours,
               const re::BatchUpdateBlobsRequest& theirs) {
  CASEMATE_CHECK(ours.instance == theirs.instance_name());
  CASEMATE_CHECK(ours.items.size() ==
                 static_cast<size_t>(theirs.requests_size()));
  for (size_t i = 0; i < ours.items.size(); ++i) {
    const auto& item = theirs.requests(static_cast<int>(i));
    const auto& mine = ours.items[i];
    CASEMATE_CHECK(mine.digest.Hex() == item.digest().hash());
    CASEMATE_CHECK(mine.digest.size() == item.digest().size_bytes());
    CASEMATE_CHECK(mine.data.Joined().view() == item.data());
    CASEMATE_CHECK(mine.compressor == static_cast<int>(item.compressor()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t step = data[0] % 32 + 1;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::vector<Bytes> whole = {Bytes::FromString(text)};
  std::vector<Bytes> pieces;
  for (size_t at = 0; at < text.size(); at += step) {
    pieces.push_back(Bytes::FromString(text.substr(at, step)));
  }
  const auto ours = casemate::reapi::ParseBatchUpdateRequest(whole);
  const auto cut = casemate::reapi::ParseBatchUpdateRequest(pieces);
  CASEMATE_CHECK(ours.has_value() == cut.has_value());
  if (!ours) return 0;
  re::BatchUpdateBlobsRequest theirs;
  CASEMATE_CHECK(theirs.ParseFromString(text));
  CheckSame(*ours, theirs);
  CheckSame(*cut, theirs);
  return 0;
}
