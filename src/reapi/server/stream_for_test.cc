#include "reapi/server/stream_for_test.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "codec/zstd.h"
#include "google/bytestream/bytestream.pb.h"
#include "reapi/wire/resource_name.h"
#include "store/disk_layout.h"

namespace casemate::reapi::testing {

namespace bs = google::bytestream;

// Linked with the helpers of stores; it runs in the tests of store/.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreConformance);

Result<const Backend*> TestBackends::Open(const Context&,
                                          std::string_view instance) {
  if (instance == "slow") return &backend_;
  if (const Backend* const known = Known(instance)) return known;
  return Error{kBadInstance, "no such instance"};
}

const Backend* TestBackends::Known(std::string_view instance) {
  return instance.empty() || instance == "a/b" ? &backend_ : nullptr;
}

StreamServer::StreamServer(BlobStore& store, TestOptions options)
    : backends_(store),
      admission_(options.memory, options.patience),
      service_(std::make_unique<ByteStream>(ServerParts{
          backends_, options.settings, admission_, arrivals_, pool_})) {}

StreamServer::~StreamServer() { ExpectNothingHeld(); }

void StreamServer::ExpectNothingHeld() {
  EXPECT_EQ(admission_.used(), 0);
  EXPECT_EQ(admission_.waiting(), 0u);
  EXPECT_EQ(arrivals_.waiting(), 0u);
  EXPECT_EQ(service_->uploads().under_way(), 0u);
  EXPECT_EQ(service_->small_writes().waiting(), 0u);
}

StreamServer::ReadResult StreamServer::Read(const std::string& name,
                                            int64_t offset, int64_t limit,
                                            const Metadata& metadata) {
  bs::ReadRequest request;
  request.set_resource_name(name);
  request.set_read_offset(offset);
  request.set_read_limit(limit);
  MemoryCall call(*service_, "/google.bytestream.ByteStream/Read", pool_,
                  metadata);
  call.Send(request.SerializeAsString());
  call.HalfClose();
  ReadResult result;
  while (const auto answer = call.Receive()) {
    bs::ReadResponse response;
    CASEMATE_CHECK(response.ParseFromString(*answer));
    result.data += response.data();
    result.messages.push_back(answer->size());
  }
  result.status = call.Wait();
  return result;
}

StreamServer::WriteResult StreamServer::Write(const std::string& name,
                                              const std::string& data,
                                              size_t chunk,
                                              int64_t first_offset) {
  Upload upload(*this, name);
  upload.ContinueAt(first_offset);
  size_t at = 0;
  do {
    const std::string part = data.substr(at, chunk);
    at += part.size();
    upload.Send(part, at == data.size());
  } while (at < data.size());
  upload.HalfClose();
  return upload.End();
}

StreamServer::QueryResult StreamServer::Query(const std::string& name) {
  bs::QueryWriteStatusRequest request;
  request.set_resource_name(name);
  const auto result = casemate::testing::CallUnary(
      *service_, "/google.bytestream.ByteStream/QueryWriteStatus",
      request.SerializeAsString(), pool_);
  bs::QueryWriteStatusResponse response;
  CASEMATE_CHECK(response.ParseFromString(result.answer));
  return {result.status.code, response.committed_size(), response.complete()};
}

void Upload::Send(const std::string& data, bool finish) {
  SendAt(offset_, data, finish, std::exchange(named_, true) ? "" : name_);
}

void Upload::SendAt(int64_t offset, const std::string& data, bool finish,
                    const std::string& name) {
  bs::WriteRequest request;
  request.set_resource_name(name);
  request.set_write_offset(offset);
  request.set_finish_write(finish);
  request.set_data(data);
  // Wrong ones may be as large as it gets.
  offset_ = static_cast<int64_t>(static_cast<uint64_t>(offset) + data.size());
  call_.Send(request.SerializeAsString());
}

StreamServer::WriteResult Upload::End() {
  StreamServer::WriteResult result;
  if (const auto answer = call_.Receive()) {
    bs::WriteResponse response;
    CASEMATE_CHECK(response.ParseFromString(*answer));
    result.committed = response.committed_size();
  }
  result.status = call_.Wait();
  return result;
}

std::string ReadName(const Digest& digest, bool zstd) {
  ResourceName name;
  name.digest = digest;
  name.encoding = zstd ? Encoding::kZstd : Encoding::kIdentity;
  return FormatReadName(name);
}

std::string WriteName(const Digest& digest, bool zstd,
                      const std::string& uuid) {
  ResourceName name;
  name.digest = digest;
  name.uuid = uuid;
  name.encoding = zstd ? Encoding::kZstd : Encoding::kIdentity;
  return FormatWriteName(name);
}

std::string Unzstd(const std::string& frames, size_t most) {
  codec::Decoder decoder(static_cast<int64_t>(most));
  std::string text;
  std::string buffer(64 << 10, '\0');
  for (auto input = AsBytes(frames);;) {
    const auto step =
        decoder.Decode(input, std::as_writable_bytes(std::span(buffer)));
    CASEMATE_CHECK(step);
    text.append(buffer, 0, step->produced);
    input = input.subspan(step->consumed);
    if (input.empty() && step->produced < buffer.size()) break;
  }
  CASEMATE_CHECK(decoder.at_border());
  return text;
}

std::string HalfText(size_t size, unsigned seed) {
  std::string text = RandomText(size, seed);
  for (char& each : text) each = static_cast<char>(each & 0x0F);
  return text;
}

AnyStore::AnyStore(Kind kind) {
  if (kind == Kind::kMemory) {
    store_ = MakeMemoryStore();
    return;
  }
  DiskStoreOptions options;
  options.sync = DiskStoreOptions::Sync::kOff;
  if (kind == Kind::kDiskZstd) options.at_rest = Encoding::kZstd;
  store_ = DiskStore::Open(folder(), options).value();
}

std::string AnyStore::PathOf(const Digest& digest) const {
  return folder() + "/" + std::string(store::BlobPath(digest).path());
}

std::string KindName(Kind kind) {
  switch (kind) {
    case Kind::kMemory: return "Memory";
    case Kind::kDisk: return "Disk";
    case Kind::kDiskZstd: return "DiskZstd";
  }
  return "";
}

}  // namespace casemate::reapi::testing
