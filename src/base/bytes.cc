#include "casemate/bytes.h"

#include <cstring>

namespace casemate {

Bytes Bytes::FromString(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  const auto data = AsBytes(*owner);
  return Bytes(std::move(owner), data);
}

Bytes Bytes::Copy(std::span<const std::byte> data) {
  if (data.empty()) return Bytes();
  auto owner = std::make_shared_for_overwrite<std::byte[]>(data.size());
  std::memcpy(owner.get(), data.data(), data.size());
  const std::span<const std::byte> copied(owner.get(), data.size());
  return Bytes(std::shared_ptr<const void>(std::move(owner)), copied);
}

}  // namespace casemate
