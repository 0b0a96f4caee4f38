// What holds for all methods alike.
#include "reapi/server/cas_service.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "reapi/server/cas_for_test.h"

namespace casemate::reapi {
namespace {

using testing::DigestOf;

constexpr const char* kMethods[] = {
    "FindMissingBlobs", "BatchUpdateBlobs",   "BatchReadBlobs", "GetTree",
    "GetActionResult",  "UpdateActionResult", "GetCapabilities"};

// A request that each method would serve, for an instance.
std::string RequestFor(std::string_view method, const std::string& instance) {
  const proto::Digest digest = ToProto(DigestOf(""));
  const auto filled = [&](auto request) {
    request.set_instance_name(instance);
    return request.SerializeAsString();
  };
  if (method == "FindMissingBlobs") {
    return filled(proto::FindMissingBlobsRequest());
  }
  if (method == "BatchUpdateBlobs") {
    return filled(proto::BatchUpdateBlobsRequest());
  }
  if (method == "BatchReadBlobs") return filled(proto::BatchReadBlobsRequest());
  if (method == "GetCapabilities") {
    return filled(proto::GetCapabilitiesRequest());
  }
  if (method == "GetTree") {
    proto::GetTreeRequest request;
    *request.mutable_root_digest() = digest;
    return filled(request);
  }
  if (method == "GetActionResult") {
    proto::GetActionResultRequest request;
    *request.mutable_action_digest() = digest;
    return filled(request);
  }
  proto::UpdateActionResultRequest request;
  *request.mutable_action_digest() = digest;
  request.mutable_action_result();
  return filled(request);
}

class AllMethods : public ::testing::Test {
 protected:
  Code CodeOf(std::string_view method, std::string request,
              testing::Metadata metadata = {}) {
    return testing::CallUnary(scene_.ServiceOf(method), scene_.PathOf(method),
                              std::move(request), scene_.pool,
                              std::move(metadata))
        .status.code;
  }

  const std::unique_ptr<BlobStore> store_ = MakeMemoryStore();
  Scene scene_{*store_};
};

TEST_F(AllMethods, R030_R032_R034_ServeEveryWellFormedInstance) {
  ASSERT_EQ(CodeOf("UpdateActionResult", RequestFor("UpdateActionResult", "")),
            Code::kOk);
  for (const char* const method : kMethods) {
    EXPECT_EQ(CodeOf(method, RequestFor(method, "")), Code::kOk) << method;
    if (std::string_view(method) == "GetActionResult") continue;
    EXPECT_EQ(CodeOf(method, RequestFor(method, "projects/p/instances/i")),
              Code::kOk)
        << method;
  }
}

TEST_F(AllMethods, R031_R036_D17_RefuseMalformedInstancesAlike) {
  for (const char* const method : kMethods) {
    for (const char* const name : {"a//b", "/a", "a/", "..", "x/blobs/y"}) {
      EXPECT_EQ(CodeOf(method, RequestFor(method, name)),
                Code::kInvalidArgument)
          << method << " " << name;
    }
  }
}

TEST_F(AllMethods, R035_D18_RefuseUnknownInstancesAlike) {
  const auto cache = actions::MakeMemoryActionCache();
  SomeBackends backends({*store_, *cache});
  const ServerParts parts = {
      backends, {}, scene_.admission, scene_.arrivals, scene_.pool};
  CasService cas(parts);
  ActionCacheService action_cache(parts);
  CapabilitiesService capabilities(parts);
  for (const char* const method : kMethods) {
    rpc::Service* service = &cas;
    if (std::string_view(method).ends_with("ActionResult")) {
      service = &action_cache;
    }
    if (std::string_view(method) == "GetCapabilities") service = &capabilities;
    const auto result =
        testing::CallUnary(*service, scene_.PathOf(method),
                           RequestFor(method, "nope"), scene_.pool);
    EXPECT_EQ(result.status.code, Code::kInvalidArgument) << method;
  }
}

TEST_F(AllMethods, R230_RequestMetadataIsOptionalAndMayBeGarbage) {
  (void)CodeOf("UpdateActionResult", RequestFor("UpdateActionResult", ""));
  for (const char* const method : kMethods) {
    EXPECT_EQ(
        CodeOf(method, RequestFor(method, ""),
               {{"build.bazel.remote.execution.v2.requestmetadata-bin", "\xff"},
                {"google.devtools.remoteexecution.v1test.requestmetadata-bin",
                 std::string(1000, '\0')}}),
        Code::kOk)
        << method;
  }
}

TEST_F(AllMethods, R232_UnknownFieldsDoNotFailTheCall) {
  (void)CodeOf("UpdateActionResult", RequestFor("UpdateActionResult", ""));
  for (const char* const method : kMethods) {
    EXPECT_EQ(CodeOf(method, RequestFor(method, "") + "\xc2\x3e\x03xyz"),
              Code::kOk)
        << method;
  }
}

TEST_F(AllMethods, R233_MethodsThatAreNotOfferedAreUnimplemented) {
  for (const char* const method : {"Execute", "Nothing", "", "getTree"}) {
    EXPECT_EQ(CodeOf(method, ""), Code::kUnimplemented) << method;
  }
}

TEST_F(AllMethods, OneRequestMessageIsOneNoneIsUnimplemented) {
  for (const char* const method : kMethods) {
    testing::MemoryCall none(scene_.ServiceOf(method), scene_.PathOf(method),
                             scene_.pool);
    none.HalfClose();
    EXPECT_EQ(none.Wait().code, Code::kUnimplemented) << method;
    if (std::string_view(method) == "GetTree") continue;
    testing::MemoryCall two(scene_.ServiceOf(method), scene_.PathOf(method),
                            scene_.pool);
    two.Send(RequestFor(method, ""));
    two.WaitUntilReading();
    two.Send(RequestFor(method, ""));
    EXPECT_EQ(two.Wait().code, Code::kUnimplemented) << method;
  }
}

TEST_F(AllMethods, R235_CancelledCallsEnd) {
  for (const char* const method : kMethods) {
    for (const bool sent : {false, true}) {
      testing::MemoryCall call(scene_.ServiceOf(method), scene_.PathOf(method),
                               scene_.pool);
      if (sent) call.Send(RequestFor(method, ""));
      call.Cancel();
      (void)call.Wait();
    }
  }
  EXPECT_EQ(scene_.admission.used(), 0);
}

// Seconds since the epoch at which the only blob was last used.
class LastUse : public ::testing::Test {
 protected:
  LastUse() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             dir_ / "store" + "/cas")) {
      if (entry.is_regular_file()) path_ = entry.path();
    }
    const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  }

  bool IsRecent() const {
    struct stat stat = {};
    EXPECT_EQ(::stat(path_.c_str(), &stat), 0);
    return stat.st_atim.tv_sec > time(nullptr) - 3600;
  }

  testing::TempDir dir_;
  const std::unique_ptr<BlobStore> store_ =
      DiskStore::Open(dir_ / "store").value();
  const Digest digest_ = testing::MustPut(*store_, "blob");
  Scene scene_{*store_};

 private:
  std::string path_;
};

TEST_F(LastUse, R109_FindMissingBlobsKeepsWhatItFinds) {
  EXPECT_FALSE(IsRecent());
  proto::FindMissingBlobsRequest request;
  *request.add_blob_digests() = ToProto(digest_);
  (void)scene_.Call<proto::FindMissingBlobsResponse>("FindMissingBlobs",
                                                     request);
  EXPECT_TRUE(IsRecent());
}

TEST_F(LastUse, R164_R231_D29_AResultKeepsTheBlobsItRefersTo) {
  proto::UpdateActionResultRequest update;
  *update.mutable_action_digest() = ToProto(DigestOf("action"));
  *update.mutable_action_result()->mutable_stdout_digest() = ToProto(digest_);
  (void)scene_.Call<proto::ActionResult>("UpdateActionResult", update);
  EXPECT_FALSE(IsRecent());
  proto::GetActionResultRequest get;
  *get.mutable_action_digest() = ToProto(DigestOf("action"));
  EXPECT_TRUE(
      scene_.Call<proto::ActionResult>("GetActionResult", get).status.ok());
  EXPECT_TRUE(IsRecent());
}

}  // namespace
}  // namespace casemate::reapi
