// Incoming: what has come on a stream and was not taken yet.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/http2/deframer.h"

namespace casemate::rpc::http2 {

// Messages are put together as they come, asked for or not, so that their bytes
// are copied once; a few of them may be ready. What comes beyond those waits as
// it is, so that a window full of tiny messages costs a window. It also counts
// the credit, the bytes of the wire that the handler has taken.
class Incoming {
 public:
  static constexpr size_t kMostReady = 8;

  Incoming(Coding coding, int64_t limit) : deframer_(coding, limit) {}

  // Once it has failed, nothing must be added any more.
  Result<void> Add(std::string_view bytes);

  // The next message that is complete. An error if what comes after it is none.
  Result<std::optional<Message>> Next();

  // Bytes for which the peer may send others, since it was last asked. The
  // handler that waits for a message takes its bytes as they come.
  size_t TakeCredit(bool waiting);

  // All that was not credited yet; forgets it, and all messages.
  size_t Abandon();

  bool has_ready() const { return !ready_.empty(); }
  bool at_border() const {
    return ready_.empty() && backlog_.empty() && deframer_.at_border();
  }

  // What has come and was not taken: complete or not.
  size_t held() const { return held_; }
  // END_STREAM here would cut a message. Only while nothing is ready.
  bool cut() const { return backlog_.empty() && !deframer_.at_border(); }

 private:
  struct Ready {
    Message message;
    size_t cost;  // Bytes of the wire that were not credited yet.
  };

  Result<size_t> Take(std::string_view bytes);

  Deframer deframer_;
  size_t cost_ = 0;  // Of the message that is not complete.
  size_t credit_ = 0;
  size_t held_ = 0;
  std::vector<Ready> ready_;
  std::string backlog_;
};

}  // namespace casemate::rpc::http2
