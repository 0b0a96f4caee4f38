#include "rpc/message.h"

namespace casemate::rpc {

Bytes Message::Joined() const {
  if (pieces_.empty()) return {};
  if (pieces_.size() == 1) return pieces_.front();
  std::string text;
  text.reserve(size_);
  for (const Bytes& piece : pieces_) text += piece.view();
  return Bytes::FromString(std::move(text));
}

}  // namespace casemate::rpc
