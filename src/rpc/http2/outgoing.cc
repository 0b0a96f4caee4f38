#include "rpc/http2/outgoing.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace casemate::rpc::http2 {

void Outgoing::Add(Message message) {
  CASEMATE_CHECK(count_ < items_.size());
  Item& item = items_[(first_ + count_++) % items_.size()];
  const size_t length = message.size();
  item.prefix = {0, static_cast<char>(length >> 24),
                 static_cast<char>(length >> 16),
                 static_cast<char>(length >> 8), static_cast<char>(length)};
  item.prefix_sent = item.piece = item.offset = 0;
  item.message = std::move(message);
  size_ += item.prefix.size() + length;
}

void Outgoing::Emit(Output& output, size_t count) {
  CASEMATE_CHECK(count <= size_);
  size_ -= count;
  while (count > 0) count -= EmitPart(output, count);
}

size_t Outgoing::EmitPart(Output& output, size_t count) {
  Item& item = items_[first_];
  untouched_ = false;
  size_t part;
  if (item.prefix_sent < item.prefix.size()) {
    part = std::min(count, item.prefix.size() - item.prefix_sent);
    output.Add(std::string_view(item.prefix.data() + item.prefix_sent, part));
    item.prefix_sent += part;
  } else {
    const Bytes& piece = item.message.pieces()[item.piece];
    part = std::min(count, piece.size() - item.offset);
    if (part <= Output::kCopied) {
      output.Add(piece.view().substr(item.offset, part));
    } else {
      output.Add(piece.Slice(item.offset, part));
    }
    item.offset += part;
    if (item.offset == piece.size()) {
      ++item.piece;
      item.offset = 0;
    }
  }
  if (item.prefix_sent == item.prefix.size() &&
      item.piece == item.message.pieces().size()) {
    item.message = {};
    first_ = (first_ + 1) % items_.size();
    --count_;
    untouched_ = true;
  }
  return part;
}

void Outgoing::Clear() {
  for (Item& item : items_) item.message = {};
  first_ = count_ = size_ = 0;
  untouched_ = true;
}

}  // namespace casemate::rpc::http2
