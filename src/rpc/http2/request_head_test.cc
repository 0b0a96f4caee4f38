#include "rpc/http2/request_head.h"

#include <gtest/gtest.h>

namespace casemate::rpc::http2 {
namespace {

RequestHead Head(const Metadata& fields, const char* method = "POST",
                 const char* type = "application/grpc") {
  RequestHead head;
  head.Add(":method", method);
  head.Add(":path", "/test.Service/Echo");
  if (*type != 0) head.Add("content-type", type);
  for (const auto& [name, value] : fields) head.Add(name, value);
  return head;
}

TEST(RequestHead, G02_OnlyPostIsACall) {
  EXPECT_EQ(Head({}).http_status(), 0);
  EXPECT_EQ(Head({}, "GET").http_status(), 405);
  EXPECT_EQ(Head({}, "post").http_status(), 405);
}

TEST(RequestHead, G03_TheContentTypeIsGrpc) {
  for (const char* good :
       {"application/grpc", "application/grpc+proto", "application/grpc;x=y"}) {
    EXPECT_EQ(Head({}, "POST", good).http_status(), 0) << good;
  }
  for (const char* bad :
       {"", "text/plain", "application/grpc+json", "application/grpc-web",
        "application/grpcx", "application/json"}) {
    EXPECT_EQ(Head({}, "POST", bad).http_status(), 415) << bad;
  }
}

TEST(RequestHead, G04_TeMayBeAbsent) {
  EXPECT_TRUE(Head({}).status().ok());
  EXPECT_TRUE(Head({{"te", "trailers"}}).metadata().empty());
}

TEST(RequestHead, G05_ATimeout) {
  EXPECT_EQ(Head({{"grpc-timeout", "5S"}}).timeout(), std::chrono::seconds(5));
  EXPECT_EQ(Head({}).timeout(), std::nullopt);
  EXPECT_EQ(Head({{"grpc-timeout", "soon"}}).status().code, Code::kInternal);
}

TEST(RequestHead, G06_TheCoding) {
  EXPECT_EQ(Head({{"grpc-encoding", "gzip"}}).coding(), Coding::kGzip);
  EXPECT_EQ(Head({{"grpc-encoding", "deflate"}}).coding(), Coding::kDeflate);
  EXPECT_EQ(Head({{"grpc-encoding", "identity"}}).coding(), Coding::kIdentity);
  RequestHead unknown = Head({{"grpc-encoding", "br"}});
  EXPECT_EQ(unknown.status().code, Code::kUnimplemented);
  EXPECT_TRUE(unknown.unknown_coding());
}

TEST(RequestHead, G08_MetadataKeepsItsOrderAndRepeats) {
  RequestHead head = Head({{"x-a", " 1 "},
                           {"x-b", ""},
                           {"x-a", "2"},
                           {"grpc-accept-encoding", "gzip"},
                           {"user-agent", "me"}});
  EXPECT_EQ(
      head.metadata(),
      (Metadata{
          {"x-a", "1"}, {"x-b", ""}, {"x-a", "2"}, {"user-agent", "me"}}));
}

TEST(RequestHead, G08_BinaryValuesAreDecodedAndParted) {
  RequestHead head = Head({{"x-bin", "Zm9v, Zg==,//79"}, {"x-bin", ""}});
  EXPECT_EQ(head.metadata(), (Metadata{{"x-bin", "foo"},
                                       {"x-bin", "f"},
                                       {"x-bin", "\xff\xfe\xfd"},
                                       {"x-bin", ""}}));
}

TEST(RequestHead, G08_MalformedMetadataIsInternal) {
  EXPECT_EQ(Head({{"x-bin", "Zm9v,!"}}).status().code, Code::kInternal);
  EXPECT_EQ(Head({{"x-a", "\xc3\xa4"}}).status().code, Code::kInternal);
}

TEST(RequestHead, CountsAsTheSettingDoes) {
  RequestHead head;
  head.Add("abc", "defgh");
  EXPECT_EQ(head.list_size(), 40u);
}

}  // namespace
}  // namespace casemate::rpc::http2
