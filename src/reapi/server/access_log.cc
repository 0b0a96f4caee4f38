#include "reapi/server/access_log.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"

namespace casemate::reapi {
namespace {

using build::bazel::remote::execution::v2::RequestMetadata;

constexpr std::array kMetadataHeaders = {
    "build.bazel.remote.execution.v2.requestmetadata-bin",
    "google.devtools.remoteexecution.v1test.requestmetadata-bin"};

// Fields that peers choose are cut, so that a line stays a line.
constexpr size_t kMaxText = 256;

void AddText(nlohmann::ordered_json& line, const char* name,
             const std::string& text) {
  if (!text.empty()) line[name] = text.substr(0, kMaxText);
}

// Nothing of it is promised, and what does not parse is as if it were absent.
void AddCaller(nlohmann::ordered_json& line, const rpc::CallInfo& info) {
  for (const char* const header : kMetadataHeaders) {
    const std::string* const value = info.Find(header);
    RequestMetadata metadata;
    if (value == nullptr || !metadata.ParseFromString(*value)) continue;
    AddText(line, "tool", metadata.tool_details().tool_name());
    AddText(line, "tool_version", metadata.tool_details().tool_version());
    AddText(line, "invocation", metadata.tool_invocation_id());
    AddText(line, "correlated_invocations",
            metadata.correlated_invocations_id());
    AddText(line, "action", metadata.action_id());
    AddText(line, "mnemonic", metadata.action_mnemonic());
    AddText(line, "target", metadata.target_id());
    return;
  }
}

std::string Now() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(
                          now.time_since_epoch())
                          .count() %
                      1000;
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  std::array<char, 40> text = {};
  const size_t length =
      std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text.data() + length, text.size() - length, ".%03dZ",
                static_cast<int>(millis));
  return text.data();
}

}  // namespace

std::string AccessLine(const rpc::CallRecord& record, const std::string& when) {
  nlohmann::ordered_json line;
  line["time"] = when;
  line["method"] = record.info.method.substr(0, kMaxText);
  line["peer"] = record.info.peer;
  line["status"] = CodeName(record.status.code);
  AddText(line, "message", record.status.message);
  line["duration_us"] =
      std::chrono::duration_cast<std::chrono::microseconds>(record.duration)
          .count();
  line["messages_in"] = record.messages_in;
  line["bytes_in"] = record.bytes_in;
  line["messages_out"] = record.messages_out;
  line["bytes_out"] = record.bytes_out;
  AddCaller(line, record.info);
  // Bytes that are not UTF-8 become U+FFFD.
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void AccessLog::OnEnd(const rpc::CallRecord& record) {
  write_(AccessLine(record, Now()));
}

}  // namespace casemate::reapi
