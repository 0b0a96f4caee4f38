// What the tests of ByteStream share: a server without a wire, and its client.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "casemate/stores.h"
#include "reapi/server/byte_stream.h"
#include "testing/memory_call.h"
#include "testing/store_helpers.h"
#include "testing/temp_dir.h"

namespace casemate::reapi::testing {

using casemate::testing::DigestOf;
using casemate::testing::MemoryCall;
using casemate::testing::Metadata;
using casemate::testing::MustPut;
using casemate::testing::MustRead;
using casemate::testing::RandomText;
using casemate::testing::Zstd;

inline constexpr char kUuid[] = "2d1ed4a7-0f6c-4a3e-9d5c-1d9b8f0c1e11";

// What an action cache would be; ByteStream never asks it.
class NoActions : public actions::ActionCache {
 public:
  Result<Bytes> Get(const Context&, const actions::ActionKey&) override {
    return Error{Code::kInternal, "nobody should ask"};
  }
  Result<void> Update(const Context&, const actions::ActionKey&,
                      const Bytes&) override {
    return Error{Code::kInternal, "nobody should ask"};
  }
};

// Serves "" and "a/b" from one store, no other instance; "slow" is found only
// by Open.
class TestBackends : public Backends {
 public:
  explicit TestBackends(BlobStore& store) : backend_{store, actions_} {}
  Result<const Backend*> Open(const Context&,
                              std::string_view instance) override;
  const Backend* Known(std::string_view instance) override;

 private:
  NoActions actions_;
  const Backend backend_;
};

struct TestOptions {
  ServerSettings settings = {};
  int64_t memory = int64_t{64} << 20;
  std::chrono::milliseconds patience{5000};
};

// A ByteStream over `store`, which outlives it.
class StreamServer {
 public:
  explicit StreamServer(BlobStore& store, TestOptions options = {});
  ~StreamServer();

  // --- Calls from their beginning to their end.
  struct ReadResult {
    rpc::Status status;
    std::string data;
    std::vector<size_t> messages;  // Their sizes.
  };
  ReadResult Read(const std::string& name, int64_t offset = 0,
                  int64_t limit = 0, const Metadata& metadata = {});

  struct WriteResult {
    rpc::Status status;
    std::optional<int64_t> committed;
  };
  // `data` in messages of at most `chunk` bytes, the last with finish_write.
  WriteResult Write(const std::string& name, const std::string& data,
                    size_t chunk = SIZE_MAX, int64_t first_offset = 0);

  struct QueryResult {
    Code code;
    int64_t committed = 0;
    bool complete = false;
  };
  QueryResult Query(const std::string& name);

  ByteStream& service() { return *service_; }
  Admission& admission() { return admission_; }
  Arrivals& arrivals() { return arrivals_; }
  work::Pool& pool() { return pool_; }

  // Nothing is held by anybody: what every test ends with.
  void ExpectNothingHeld();

 private:
  work::Pool pool_{"test-io", 4};
  TestBackends backends_;
  Admission admission_;
  Arrivals arrivals_;
  std::unique_ptr<ByteStream> service_;
};

// One Write call, message by message.
class Upload {
 public:
  Upload(StreamServer& server, std::string name)
      : name_(std::move(name)),
        call_(server.service(), "/google.bytestream.ByteStream/Write",
              server.pool()) {}

  // With the name in the first message, and the offset that is due.
  void Send(const std::string& data, bool finish = false);
  void SendAt(int64_t offset, const std::string& data, bool finish = false,
              const std::string& name = {});
  void ContinueAt(int64_t offset) { offset_ = offset; }
  void WaitUntilRead() { call_.WaitUntilReading(); }
  void HalfClose() { call_.HalfClose(); }
  void Cancel() { call_.Cancel(); }
  StreamServer::WriteResult End();  // Waits for it.
  MemoryCall& call() { return call_; }

 private:
  const std::string name_;
  bool named_ = false;
  int64_t offset_ = 0;
  MemoryCall call_;
};

std::string ReadName(const Digest& digest, bool zstd = false);
std::string WriteName(const Digest& digest, bool zstd = false,
                      const std::string& uuid = kUuid);

// What all frames of `frames` hold; aborts if they are none.
std::string Unzstd(const std::string& frames, size_t most = size_t{1} << 30);

// Compresses to about half.
std::string HalfText(size_t size, unsigned seed = 1);

// A store in memory, or on disk, for tests that run over both.
enum class Kind { kMemory, kDisk, kDiskZstd };
class AnyStore {
 public:
  explicit AnyStore(Kind kind);
  BlobStore& operator*() { return *store_; }
  std::string PathOf(const Digest& digest) const;  // On disk.
  std::string folder() const { return dir_ / "store"; }

 private:
  casemate::testing::TempDir dir_;
  std::unique_ptr<BlobStore> store_;
};
std::string KindName(Kind kind);

}  // namespace casemate::reapi::testing
