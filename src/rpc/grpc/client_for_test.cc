#include "rpc/grpc/client_for_test.h"

#include <gtest/gtest.h>

// c-ares, by which gRPC resolves "localhost", keeps ten bytes.
extern "C" const char* __lsan_default_suppressions() { return "leak:libcares"; }

namespace casemate::rpc {
namespace {

constexpr std::chrono::seconds kPatience{20};

grpc::ByteBuffer ToBuffer(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& each : slices) {
    text.append(reinterpret_cast<const char*>(each.begin()), each.size());
  }
  return text;
}

}  // namespace

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

ClientCall::ClientCall(const std::shared_ptr<grpc::Channel>& channel,
                       const std::string& path, Options options)
    : channel_(channel), stub_(channel) {
  for (const auto& [name, value] : options.metadata) {
    context_.AddMetadata(name, value);
  }
  if (options.timeout.count() > 0) {
    context_.set_deadline(std::chrono::system_clock::now() + options.timeout);
  }
  context_.set_compression_algorithm(options.compression);
  context_.set_wait_for_ready(false);
  stream_ = stub_.PrepareCall(&context_, path, &queue_);
  stream_->StartCall(As(kStart));
  Await(kStart);
}

ClientCall::~ClientCall() {
  Cancel();
  Finish();
  queue_.Shutdown();
  void* tag;
  bool ok;
  while (queue_.Next(&tag, &ok)) {
  }
}

void* ClientCall::As(Tag tag) {
  started_.insert(tag);
  return reinterpret_cast<void*>(tag);
}

bool ClientCall::Await(Tag tag) {
  const auto deadline = std::chrono::system_clock::now() + kPatience;
  while (!done_.contains(tag)) {
    void* next;
    bool ok;
    const auto got = queue_.AsyncNext(&next, &ok, deadline);
    if (got != grpc::CompletionQueue::GOT_EVENT) {
      ADD_FAILURE() << "nothing happened for 20 s";
      return false;
    }
    done_[reinterpret_cast<intptr_t>(next)] = ok;
  }
  started_.erase(tag);
  const bool ok = done_[tag];
  done_.erase(tag);
  return ok;
}

void ClientCall::StartWrite(const std::string& message) {
  sending_ = ToBuffer(message);
  stream_->Write(sending_, As(kWrite));
}

bool ClientCall::Write(const std::string& message) {
  StartWrite(message);
  return Await(kWrite);
}

bool ClientCall::HalfClose() {
  stream_->WritesDone(As(kHalfClose));
  return Await(kHalfClose);
}

std::optional<std::string> ClientCall::Read() {
  stream_->Read(&reading_, As(kRead));
  if (!Await(kRead)) return std::nullopt;
  return ToString(reading_);
}

grpc::Status ClientCall::Finish() {
  if (stream_ == nullptr) return status_;
  if (started_.contains(kRead)) Await(kRead);
  while (Read()) {
  }
  if (started_.contains(kWrite)) Await(kWrite);
  stream_->Finish(&status_, As(kFinish));
  Await(kFinish);
  stream_ = nullptr;
  return status_;
}

UnaryReply CallUnary(const std::shared_ptr<grpc::Channel>& channel,
                     const std::string& path, const std::string& request,
                     ClientCall::Options options) {
  ClientCall call(channel, path, std::move(options));
  call.Write(request);
  call.HalfClose();
  std::string answer = call.Read().value_or("");
  return {call.Finish(), std::move(answer)};
}

}  // namespace casemate::rpc
