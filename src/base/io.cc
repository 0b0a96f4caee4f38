#include "casemate/io.h"

#include <memory>

#include "base/try.h"

namespace casemate {

Result<Bytes> Reader::Next(const Context& ctx, size_t max_bytes) {
  auto owner = std::make_shared_for_overwrite<std::byte[]>(max_bytes);
  const std::span<std::byte> buffer(owner.get(), max_bytes);
  ASSIGN_OR_RETURN(const size_t got, Read(ctx, buffer));
  return Bytes::Share(std::move(owner), buffer.first(got));
}

std::optional<Result<Bytes>> Reader::TryNext(size_t) { return std::nullopt; }

}  // namespace casemate
