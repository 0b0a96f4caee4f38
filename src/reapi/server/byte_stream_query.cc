#include "reapi/server/byte_stream_query.h"

#include <array>
#include <string>
#include <utility>

#include "base/try.h"
#include "reapi/wire/bytestream_messages.h"
#include "reapi/wire/choices.h"
#include "reapi/wire/resource_name.h"
#include "rpc/simple.h"

namespace casemate::reapi {
namespace {

constexpr std::string_view kResourceHeader =
    "build.bazel.remote.execution.v2.resource-name";

// What the store really keeps under a name where something was left: it may
// have forgotten it.
Result<int64_t> AskStore(const Context& ctx, BlobStore& store,
                         const ResourceName& name, Uploads::Claim& claim) {
  ASSIGN_OR_RETURN(auto writer, store.StartWrite(ctx, name.digest, claim.id(),
                                                 name.encoding));
  const int64_t offset = writer->offset();
  if (offset > 0) claim.Keep();
  return offset;
}

Error Unknown(std::string_view resource) {
  return {Code::kNotFound,
          "nothing is known of an upload " + std::string(resource)};
}

Result<WriteStatus> Query(const StreamParts& parts, const rpc::Call& call,
                          const std::string& resource) {
  RETURN_IF_ERROR(CheckResourceHeader(call.info(), resource));
  ASSIGN_OR_RETURN(const ResourceName name, ParseWriteName(resource));
  const Context& ctx = call.context();
  ASSIGN_OR_RETURN(const Backend* const backend,
                   parts.backends.Open(ctx, name.instance));
  // Looked at first, so that an upload which ends meanwhile is found stored.
  const Uploads::Found found = parts.uploads.Look(name);
  ASSIGN_OR_RETURN(const auto missing,
                   backend->store.FindMissing(ctx, {&name.digest, 1}));
  if (missing.empty()) {
    if (found.claim) found.claim->Keep();
    return WriteStatus{name.digest.size(), true};
  }
  if (found.committed) return WriteStatus{*found.committed, false};
  if (!found.claim) return Unknown(resource);
  ASSIGN_OR_RETURN(const int64_t offset,
                   AskStore(ctx, backend->store, name, *found.claim));
  if (offset == 0) return Unknown(resource);
  return WriteStatus{offset, false};
}

}  // namespace

Result<void> CheckResourceHeader(const rpc::CallInfo& info,
                                 std::string_view resource_name) {
  const std::string* const header = info.Find(kResourceHeader);
  if (header == nullptr || *header == resource_name) return {};
  return Error{kMalformed, "the header " + std::string(kResourceHeader) +
                               " differs from the request's resource_name"};
}

// A writer is spent once it has failed, and then its store keeps nothing: so it
// is made to fail, by too few bytes or by one too many.
void Discard(const Digest& digest, std::unique_ptr<Writer> writer) {
  if (writer == nullptr) return;
  if (writer->offset() < digest.size()) {
    (void)writer->Commit({});
  } else {
    constexpr std::array<std::byte, 1> kOne = {};
    (void)writer->Write({}, kOne);
  }
}

std::unique_ptr<rpc::Handler> StartQueryWriteStatus(const StreamParts& parts,
                                                    rpc::Call& call) {
  return rpc::StartUnary(
      call,
      [&parts](const rpc::Call& asked, const Bytes& request) -> rpc::Answer {
        auto resource = ParseQueryWriteStatusRequest({&request, 1});
        if (!resource) return tl::unexpected(rpc::Status(resource.error()));
        const auto status = Query(parts, asked, *resource);
        if (!status) return tl::unexpected(rpc::Status(status.error()));
        return rpc::Message(FormatQueryWriteStatusResponse(*status));
      });
}

}  // namespace casemate::reapi
