// What the tests of the CAS, the action cache and the capabilities share.
#pragma once

#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "casemate/stores.h"
#include "reapi/server/action_cache_service.h"
#include "reapi/server/capabilities_service.h"
#include "reapi/server/cas_service.h"
#include "testing/memory_call.h"
#include "testing/store_helpers.h"
#include "testing/temp_dir.h"

namespace casemate::reapi {

namespace proto = build::bazel::remote::execution::v2;

proto::Digest ToProto(const Digest& digest);
Digest FromProto(const proto::Digest& digest);

// A Directory with a file of that name and content for each of `files`.
proto::Directory DirectoryOf(std::initializer_list<std::string> files);
void AddChild(proto::Directory& directory, const std::string& name,
              const std::string& child_bytes);

// What a unary call gave.
template <typename Response>
struct Answered {
  rpc::Status status;
  Response response;
  std::string bytes;
};

// The services of one server over one store.
class Scene {
 public:
  // `store` outlives it.
  explicit Scene(BlobStore& store,
                 std::unique_ptr<actions::ActionCache> cache = nullptr,
                 int64_t memory = int64_t{64} << 20);

  testing::UnaryResult Call(std::string_view method, std::string request);

  // "FindMissingBlobs": the service is the one that has it.
  template <typename Response>
  Answered<Response> Call(std::string_view method,
                          const google::protobuf::Message& request) {
    auto result = Call(method, request.SerializeAsString());
    Answered<Response> answered = {std::move(result.status), {}, {}};
    if (answered.status.ok()) {
      EXPECT_TRUE(answered.response.ParseFromString(result.answer));
    }
    answered.bytes = std::move(result.answer);
    return answered;
  }

  rpc::Service& ServiceOf(std::string_view method);
  std::string PathOf(std::string_view method);

  // From now on.
  void Use(const ServerSettings& settings);

  Admission admission;
  Arrivals arrivals;
  work::Pool pool{"io", 2};

 private:
  std::unique_ptr<actions::ActionCache> cache_;
  SharedBackends backends_;
  std::optional<CasService> cas_;
  std::optional<ActionCacheService> actions_;
  std::optional<CapabilitiesService> capabilities_;
};

// Runs each test over a store in memory and over one on disk.
class OverStores : public ::testing::TestWithParam<const char*> {
 protected:
  OverStores();

  bool on_disk() const { return std::string_view(GetParam()) == "Disk"; }
  std::unique_ptr<actions::ActionCache> MakeCache() const;

 private:
  testing::TempDir dir_;

 protected:
  const std::unique_ptr<BlobStore> store_;
  Scene scene_;
};

#define CASEMATE_OVER_STORES(Fixture)                           \
  INSTANTIATE_TEST_SUITE_P(Stores, Fixture,                     \
                           ::testing::Values("Memory", "Disk"), \
                           [](const auto& each) { return each.param; })

// Serves every name but "nope".
class SomeBackends : public Backends {
 public:
  explicit SomeBackends(Backend backend) : backend_(backend) {}
  Result<const Backend*> Open(const Context&, std::string_view name) override {
    if (name != "nope") return &backend_;
    return Error{kBadInstance, "instance \"nope\" is not served"};
  }
  const Backend* Known(std::string_view) override { return nullptr; }

 private:
  const Backend backend_;
};

}  // namespace casemate::reapi
