// Reflection: grpc.reflection.v1 and v1alpha, by which tools such as grpcurl
// learn what a server serves and what its messages look like.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rpc/service.h"

namespace casemate::rpc {

// Answers from the descriptors that are linked into the program. The two
// versions have the same messages; a server serves one object of each.
class Reflection : public Service {
 public:
  static constexpr std::string_view kV1 = "grpc.reflection.v1.ServerReflection";
  static constexpr std::string_view kV1Alpha =
      "grpc.reflection.v1alpha.ServerReflection";

  // `version` is one of those; `services` is what ListServices tells.
  Reflection(std::string_view version, std::vector<std::string> services)
      : name_(version), services_(std::move(services)) {}

  std::string_view name() const override { return name_; }
  std::unique_ptr<Handler> Start(std::string_view method, Call& call) override;

 private:
  const std::string_view name_;
  const std::vector<std::string> services_;
};

}  // namespace casemate::rpc
