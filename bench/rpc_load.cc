#include "bench/rpc_load.h"

#include <atomic>
#include <latch>

#include "base/check.h"
#include "bench/driver.h"

namespace casemate::bench {
namespace {

// One run of a load.
class Run {
 public:
  Run(const Load& load, std::vector<std::unique_ptr<grpc::GenericStub>>& stubs)
      : load_(load), stubs_(stubs), left_(load.calls) {}

  void All() {
    for (int i = 0; i < load_.width; ++i) Next();
    left_.wait();
  }

 private:
  class Call;

  void Next();

  const Load& load_;
  std::vector<std::unique_ptr<grpc::GenericStub>>& stubs_;
  std::atomic<int> started_ = 0;
  std::latch left_;
};

class Run::Call
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Call(Run& run, int number) : run_(run), number_(number) {}

  void Start() {
    auto& stub = run_.stubs_[static_cast<size_t>(number_) % run_.stubs_.size()];
    stub->PrepareBidiStreamingCall(&context_, run_.load_.path, {}, this);
    StartRead(&answer_);
    Send();
    StartCall();
  }

  void OnWriteDone(bool ok) override {
    if (ok && sent_ < run_.load_.requests) Send();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    bytes_ += static_cast<int64_t>(answer_.Length());
    answer_.Clear();
    StartRead(&answer_);
  }
  void OnDone(const grpc::Status& status) override {
    if (!status.ok())
      std::fprintf(stderr, "%s\n", status.error_message().c_str());
    CASEMATE_CHECK(status.ok());
    const int64_t expected = run_.load_.answer_bytes;
    CASEMATE_CHECK(expected < 0 || expected == bytes_);
    CASEMATE_CHECK(bytes_ >= run_.load_.answer_at_least);
    Run& run = run_;
    delete this;
    run.Next();
    run.left_.count_down();
  }

 private:
  void Send() {
    request_ = run_.load_.request(number_, sent_++);
    grpc::WriteOptions options;
    if (sent_ == run_.load_.requests) options.set_last_message();
    StartWrite(&request_, options);
  }

  Run& run_;
  const int number_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_, answer_;
  int sent_ = 0;
  int64_t bytes_ = 0;
};

void Run::Next() {
  const int number = started_++;
  if (number < load_.calls) (new Call(*this, number))->Start();
}

}  // namespace

LoadClient::LoadClient(const std::string& address, int channels) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  for (int i = 0; i < channels; ++i) {
    stubs_.push_back(
        std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(
            address, grpc::InsecureChannelCredentials(), arguments)));
  }
}

double LoadClient::Run(const Load& load) {
  bench::Run run(load, stubs_);
  return Timed([&] { run.All(); });
}

grpc::ByteBuffer ToBuffer(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

}  // namespace casemate::bench
