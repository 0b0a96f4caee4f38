#include "rpc/http2/request_head.h"

#include <algorithm>
#include <utility>

#include "rpc/http2/text.h"

namespace casemate::rpc::http2 {
namespace {

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool Printable(std::string_view text) {
  return std::ranges::all_of(
      text, [](char letter) { return letter >= 0x20 && letter <= 0x7e; });
}

}  // namespace

void RequestHead::Add(std::string_view name, std::string_view value) {
  list_size_ += name.size() + value.size() + 32;
  if (name.starts_with(':')) return AddPseudo(name, value);
  if (!AddReserved(name, value)) AddMetadata(name, value);
}

int RequestHead::http_status() const {
  if (!post_) return 405;
  return grpc_ ? 0 : 415;
}

void RequestHead::AddPseudo(std::string_view name, std::string_view value) {
  if (name == ":path") {
    path_ = value;
  } else if (name == ":method") {
    post_ = value == "POST";
  }
}

// The fields that are not the service's.
bool RequestHead::AddReserved(std::string_view name, std::string_view value) {
  if (name.starts_with("grpc-")) {
    if (name == "grpc-encoding") {
      SetCoding(value);
    } else if (name == "grpc-timeout") {
      timeout_ = ParseTimeout(value);
      if (!timeout_) {
        Refuse(Code::kInternal,
               "grpc-timeout is no time: " + std::string(value));
      }
    }
    return true;
  }
  if (name == "content-type") SetContentType(value);
  return name == "content-type" || name == "te" || name == "content-length" ||
         name == "host";
}

void RequestHead::AddMetadata(std::string_view name, std::string_view value) {
  if (name.ends_with("-bin")) return AddBinary(name, value);
  value = Trim(value);
  if (!Printable(value)) {
    return Refuse(Code::kInternal, "the value of " + std::string(name) +
                                       " is not printable ASCII");
  }
  metadata_.emplace_back(name, value);
}

// Several values may be joined by commas.
void RequestHead::AddBinary(std::string_view name, std::string_view value) {
  for (;;) {
    const size_t comma = value.find(',');
    auto bytes = FromBase64(Trim(value.substr(0, comma)));
    if (!bytes) {
      return Refuse(Code::kInternal,
                    "the value of " + std::string(name) + " is not base64");
    }
    metadata_.emplace_back(name, std::move(*bytes));
    if (comma == std::string_view::npos) return;
    value.remove_prefix(comma + 1);
  }
}

void RequestHead::SetContentType(std::string_view value) {
  constexpr std::string_view kGrpc = "application/grpc";
  if (!value.starts_with(kGrpc)) return;
  value.remove_prefix(kGrpc.size());
  proto_suffix_ = value.starts_with("+proto");
  if (proto_suffix_) value.remove_prefix(6);
  grpc_ = value.empty() || value.starts_with(';');
}

void RequestHead::SetCoding(std::string_view value) {
  if (value == "gzip") {
    coding_ = Coding::kGzip;
  } else if (value == "deflate") {
    coding_ = Coding::kDeflate;
  } else if (value != "identity") {
    unknown_coding_ = true;
    Refuse(Code::kUnimplemented,
           "unknown grpc-encoding: " + std::string(value));
  }
}

// The first reason counts.
void RequestHead::Refuse(Code code, std::string message) {
  if (status_.ok()) status_ = Status(code, std::move(message));
}

}  // namespace casemate::rpc::http2
