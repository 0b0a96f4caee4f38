#include "reapi/server/access_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"

namespace casemate::reapi {
namespace {

using build::bazel::remote::execution::v2::RequestMetadata;

constexpr char kHeader[] =
    "build.bazel.remote.execution.v2.requestmetadata-bin";
constexpr char kOldHeader[] =
    "google.devtools.remoteexecution.v1test.requestmetadata-bin";

std::string Bazel() {
  RequestMetadata metadata;
  metadata.mutable_tool_details()->set_tool_name("bazel");
  metadata.mutable_tool_details()->set_tool_version("4.2.3");
  metadata.set_tool_invocation_id("b1e6");
  metadata.set_action_id("abc");
  return metadata.SerializeAsString();
}

nlohmann::json Line(std::vector<std::pair<std::string, std::string>> headers,
                    rpc::Status status = {}) {
  const rpc::CallInfo info = {"/s.S/M", "ipv4:127.0.0.1:1", std::move(headers)};
  const rpc::CallRecord record = {
      info, status, std::chrono::microseconds(1500), 1, 20, 3, 4000};
  return nlohmann::json::parse(AccessLine(record, "2026-05-01T12:00:00.123Z"));
}

TEST(AccessLog, SaysWhatWasCalledAndHowItEnded) {
  const auto line = Line({}, {Code::kNotFound, "no such blob"});
  EXPECT_EQ(line["time"], "2026-05-01T12:00:00.123Z");
  EXPECT_EQ(line["method"], "/s.S/M");
  EXPECT_EQ(line["peer"], "ipv4:127.0.0.1:1");
  EXPECT_EQ(line["status"], "NOT_FOUND");
  EXPECT_EQ(line["message"], "no such blob");
  EXPECT_EQ(line["duration_us"], 1500);
  EXPECT_EQ(line["bytes_in"], 20);
  EXPECT_EQ(line["messages_out"], 3);
  EXPECT_FALSE(line.contains("tool"));
}

TEST(AccessLog, NamesToolAndInvocation) {
  for (const char* header : {kHeader, kOldHeader}) {
    const auto line = Line({{header, Bazel()}});
    EXPECT_EQ(line["tool"], "bazel") << header;
    EXPECT_EQ(line["tool_version"], "4.2.3");
    EXPECT_EQ(line["invocation"], "b1e6");
    EXPECT_EQ(line["action"], "abc");
    EXPECT_FALSE(line.contains("target"));
  }
}

TEST(AccessLog, R230_GarbageInTheMetadataIsNoMetadata) {
  EXPECT_FALSE(Line({{kHeader, "\xff\xff garbage"}}).contains("tool"));
  EXPECT_EQ(Line({{kHeader, "\xff"}, {kOldHeader, Bazel()}})["tool"], "bazel");
}

TEST(AccessLog, NeverWritesACredential) {
  const auto line = Line({{"authorization", "Bearer hunter2"},
                          {"x-api-key", "hunter2"},
                          {kHeader, Bazel()}});
  EXPECT_EQ(line.dump().find("hunter2"), std::string::npos);
}

TEST(AccessLog, StaysOneLineWhateverPeersSend) {
  RequestMetadata metadata;
  metadata.mutable_tool_details()->set_tool_name("a\nb" +
                                                 std::string(5000, 'x'));
  const rpc::CallInfo info = {
      "/s.S/\xff", "unix:", {{kHeader, metadata.SerializeAsString()}}};
  const std::string line = AccessLine(
      {info, rpc::Status(), std::chrono::seconds(0), 0, 0, 0, 0}, "now");
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_LT(line.size(), 1000u);
}

}  // namespace
}  // namespace casemate::reapi
