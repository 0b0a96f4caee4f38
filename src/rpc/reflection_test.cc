#include "rpc/reflection.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "testing/memory_call.h"

namespace casemate::rpc {
namespace {

using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::MemoryCall;

constexpr char kPath[] =
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
constexpr char kReapi[] =
    "build/bazel/remote/execution/v2/remote_execution.proto";

class ReflectionTest : public ::testing::Test {
 protected:
  ServerReflectionResponse Ask(const ServerReflectionRequest& request) {
    MemoryCall call(reflection_, kPath, pool_);
    call.Send(request.SerializeAsString());
    ServerReflectionResponse response;
    EXPECT_TRUE(response.ParseFromString(call.Receive().value_or("\xff")));
    return response;
  }
  // The names of the files in the answer.
  static std::vector<std::string> Files(const ServerReflectionResponse& from) {
    std::vector<std::string> names;
    for (const auto& each :
         from.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      EXPECT_TRUE(file.ParseFromString(each));
      names.push_back(file.name());
    }
    return names;
  }

  work::Pool pool_{"test", 1};
  Reflection reflection_{Reflection::kV1, {"a.B", "c.D"}};
  // So that the file is linked into this program.
  const std::string digest_ =
      build::bazel::remote::execution::v2::Digest::descriptor()->full_name();
};

TEST_F(ReflectionTest, ListsTheServices) {
  ServerReflectionRequest request;
  request.set_host("me");
  request.set_list_services("");
  const auto response = Ask(request);
  EXPECT_EQ(response.valid_host(), "me");
  EXPECT_EQ(response.original_request().SerializeAsString(),
            request.SerializeAsString());
  ASSERT_EQ(response.list_services_response().service_size(), 2);
  EXPECT_EQ(response.list_services_response().service(0).name(), "a.B");
}

TEST_F(ReflectionTest, GivesAFileAndAllItImportsOnce) {
  ServerReflectionRequest request;
  request.set_file_by_filename(kReapi);
  const auto files = Files(Ask(request));
  EXPECT_EQ(files.front(), kReapi);
  EXPECT_THAT(files, Contains("google/rpc/status.proto"));
  EXPECT_THAT(files, Contains("google/protobuf/any.proto").Times(1));
}

TEST_F(ReflectionTest, FindsTheFileOfAMessageAServiceAndAMethod) {
  for (const std::string symbol :
       {digest_.c_str(),
        "build.bazel.remote.execution.v2.ContentAddressableStorage",
        "build.bazel.remote.execution.v2.ActionCache.GetActionResult"}) {
    ServerReflectionRequest request;
    request.set_file_containing_symbol(symbol);
    EXPECT_THAT(Files(Ask(request)), Contains(kReapi)) << symbol;
  }
}

TEST_F(ReflectionTest, SaysWhatIsNotThere) {
  ServerReflectionRequest file, symbol, extension, type, nothing;
  file.set_file_by_filename("no.proto");
  symbol.set_file_containing_symbol("no.Such");
  extension.mutable_file_containing_extension()->set_containing_type(digest_);
  extension.mutable_file_containing_extension()->set_extension_number(7);
  type.set_all_extension_numbers_of_type("no.Such");
  for (const auto& request : {file, symbol, extension, type}) {
    EXPECT_EQ(Ask(request).error_response().error_code(), 5);
  }
  EXPECT_EQ(Ask(nothing).error_response().error_code(), 3);
}

TEST_F(ReflectionTest, ListsTheExtensionsOfAType) {
  ServerReflectionRequest request;
  request.set_all_extension_numbers_of_type(digest_);
  const auto response = Ask(request);
  EXPECT_EQ(response.all_extension_numbers_response().base_type_name(),
            digest_);
  EXPECT_EQ(response.all_extension_numbers_response().extension_number_size(),
            0);
}

TEST_F(ReflectionTest, AnswersRequestAfterRequest) {
  MemoryCall call(reflection_, kPath, pool_);
  for (int i = 0; i < 3; ++i) {
    ServerReflectionRequest request;
    request.set_list_services("");
    call.Send(request.SerializeAsString());
    EXPECT_TRUE(call.Receive());
  }
  call.HalfClose();
  EXPECT_TRUE(call.Wait().ok());
}

TEST_F(ReflectionTest, RefusesWhatIsGarbageOrTooLarge) {
  MemoryCall garbage(reflection_, kPath, pool_);
  garbage.Send("\xff");
  EXPECT_EQ(garbage.Wait().code, Code::kInvalidArgument);
  ServerReflectionRequest request;
  request.set_file_by_filename(std::string(20'000, 'x'));
  MemoryCall large(reflection_, kPath, pool_);
  large.Send(request.SerializeAsString());
  EXPECT_EQ(large.Wait().code, Code::kResourceExhausted);
}

TEST_F(ReflectionTest, SpeaksTheOlderNameToo) {
  Reflection older(Reflection::kV1Alpha, {"a.B"});
  MemoryCall call(older,
                  "/grpc.reflection.v1alpha.ServerReflection/"
                  "ServerReflectionInfo",
                  pool_);
  grpc::reflection::v1alpha::ServerReflectionRequest request;
  request.set_list_services("");
  call.Send(request.SerializeAsString());
  grpc::reflection::v1alpha::ServerReflectionResponse response;
  ASSERT_TRUE(response.ParseFromString(call.Receive().value_or("\xff")));
  EXPECT_EQ(response.list_services_response().service(0).name(), "a.B");
}

}  // namespace
}  // namespace casemate::rpc
