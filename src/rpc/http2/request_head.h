// RequestHead: the header fields of a request, and what they ask for.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/call.h"
#include "rpc/http2/inflate.h"
#include "rpc/status.h"

namespace casemate::rpc::http2 {

// Takes the fields one by one, in the order they came. What is wrong with them
// is known when all are there: not a gRPC call at all (an HTTP status), or one
// that ends before it has begun (a Status).
class RequestHead {
 public:
  void Add(std::string_view name, std::string_view value);

  // As SETTINGS_MAX_HEADER_LIST_SIZE counts: name, value and 32.
  size_t list_size() const { return list_size_; }

  // 0, or what is answered instead of a call: 405, 415.
  int http_status() const;

  // What the call ends with at once, unless OK.
  const Status& status() const { return status_; }

  std::string& path() { return path_; }
  Metadata& metadata() { return metadata_; }
  Coding coding() const { return coding_; }
  std::optional<std::chrono::nanoseconds> timeout() const { return timeout_; }

  // What answers are labelled with: what the client sent.
  bool proto_suffix() const { return proto_suffix_; }
  // The coding is unknown: the answer names those that are not.
  bool unknown_coding() const { return unknown_coding_; }

 private:
  void AddPseudo(std::string_view name, std::string_view value);
  bool AddReserved(std::string_view name, std::string_view value);
  void AddMetadata(std::string_view name, std::string_view value);
  void AddBinary(std::string_view name, std::string_view value);
  void SetContentType(std::string_view value);
  void SetCoding(std::string_view value);
  void Refuse(Code code, std::string message);

  size_t list_size_ = 0;
  bool post_ = false;
  bool grpc_ = false;
  bool proto_suffix_ = false;
  bool unknown_coding_ = false;
  Coding coding_ = Coding::kIdentity;
  std::string path_;
  std::optional<std::chrono::nanoseconds> timeout_;
  Metadata metadata_;
  Status status_;
};

}  // namespace casemate::rpc::http2
