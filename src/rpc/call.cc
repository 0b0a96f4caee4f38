#include "rpc/call.h"

namespace casemate::rpc {

const std::string* CallInfo::Find(std::string_view name) const {
  for (const auto& [key, value] : metadata) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace casemate::rpc
