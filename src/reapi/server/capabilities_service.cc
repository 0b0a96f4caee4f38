#include "reapi/server/capabilities_service.h"

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "reapi/server/cas_call.h"
#include "reapi/wire/choices.h"
#include "rpc/simple.h"

namespace casemate::reapi {
namespace {

namespace proto = build::bazel::remote::execution::v2;

// what works, and nothing else.
proto::ServerCapabilities Describe(const ServerSettings& settings) {
  proto::ServerCapabilities all;
  auto& cache = *all.mutable_cache_capabilities();
  for (const DigestFunction function : kDigestFunctions) {
    cache.add_digest_functions(
        static_cast<proto::DigestFunction::Value>(function));
  }
  cache.mutable_action_cache_update_capabilities()->set_update_enabled(true);
  cache.set_max_batch_total_size_bytes(kMaxBatchTotalBytes);
  cache.set_symlink_absolute_path_strategy(
      proto::SymlinkAbsolutePathStrategy::ALLOWED);
  cache.add_supported_compressors(proto::Compressor::ZSTD);
  cache.add_supported_batch_update_compressors(proto::Compressor::ZSTD);
  cache.set_max_cas_blob_size_bytes(settings.max_cas_blob_size);
  all.mutable_low_api_version()->set_major(kLowApiMajor);
  all.mutable_low_api_version()->set_minor(kLowApiMinor);
  all.mutable_high_api_version()->set_major(kHighApiMajor);
  all.mutable_high_api_version()->set_minor(kHighApiMinor);
  return all;
}

}  // namespace

std::unique_ptr<rpc::Handler> CapabilitiesService::Start(
    std::string_view method, rpc::Call& call) {
  if (method != "GetCapabilities") return nullptr;
  using Response = tl::expected<proto::ServerCapabilities, rpc::Status>;
  return rpc::StartUnary(
      call,
      rpc::OverMessages<proto::GetCapabilitiesRequest,
                        proto::ServerCapabilities>(
          [this](const rpc::Call& each,
                 const proto::GetCapabilitiesRequest& request) -> Response {
            const auto opened = OpenInstance(each.context(), parts_.backends,
                                             request.instance_name());
            if (!opened) return tl::unexpected(rpc::Status(opened.error()));
            return Describe(parts_.settings);
          }));
}

}  // namespace casemate::reapi
