#include "rpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>
#include <utility>

#include "grpc/reflection/v1/reflection.pb.h"

namespace casemate::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

// Names are short; the request comes back in the answer.
constexpr size_t kLargestRequest = 16 << 10;

void Fail(ServerReflectionResponse& response, Code code,
          const std::string& why) {
  auto& error = *response.mutable_error_response();
  error.set_error_code(static_cast<int>(code));
  error.set_error_message(why);
}

// The file and all that it imports, each once.
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>& seen,
             ServerReflectionResponse& response) {
  if (!seen.insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  response.mutable_file_descriptor_response()->add_file_descriptor_proto(
      proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) {
    AddFile(*file.dependency(i), seen, response);
  }
}

void AnswerFile(const FileDescriptor* file, const std::string& name,
                ServerReflectionResponse& response) {
  if (file == nullptr) {
    return Fail(response, Code::kNotFound, "not found: " + name);
  }
  std::set<const FileDescriptor*> seen;
  AddFile(*file, seen, response);
}

void AnswerExtension(const std::string& type, int number,
                     ServerReflectionResponse& response) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  const Descriptor* const message = pool.FindMessageTypeByName(type);
  const FieldDescriptor* const field =
      message == nullptr ? nullptr
                         : pool.FindExtensionByNumber(message, number);
  AnswerFile(field == nullptr ? nullptr : field->file(),
             "extension " + std::to_string(number) + " of " + type, response);
}

void AnswerExtensionNumbers(const std::string& type,
                            ServerReflectionResponse& response) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  const Descriptor* const message = pool.FindMessageTypeByName(type);
  if (message == nullptr) {
    return Fail(response, Code::kNotFound, "not found: " + type);
  }
  auto& numbers = *response.mutable_all_extension_numbers_response();
  numbers.set_base_type_name(type);
  std::vector<const FieldDescriptor*> found;
  pool.FindAllExtensions(message, &found);
  for (const FieldDescriptor* each : found) {
    numbers.add_extension_number(each->number());
  }
}

void AnswerServices(const std::vector<std::string>& services,
                    ServerReflectionResponse& response) {
  auto& list = *response.mutable_list_services_response();
  for (const std::string& each : services) list.add_service()->set_name(each);
}

ServerReflectionResponse ToAnswer(const ServerReflectionRequest& request,
                                  const std::vector<std::string>& services) {
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename: {
      const std::string& name = request.file_by_filename();
      AnswerFile(pool.FindFileByName(name), name, response);
      break;
    }
    case ServerReflectionRequest::kFileContainingSymbol: {
      const std::string& name = request.file_containing_symbol();
      AnswerFile(pool.FindFileContainingSymbol(name), name, response);
      break;
    }
    case ServerReflectionRequest::kFileContainingExtension: {
      const auto& extension = request.file_containing_extension();
      AnswerExtension(extension.containing_type(), extension.extension_number(),
                      response);
      break;
    }
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      AnswerExtensionNumbers(request.all_extension_numbers_of_type(), response);
      break;
    case ServerReflectionRequest::kListServices:
      AnswerServices(services, response);
      break;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      Fail(response, Code::kInvalidArgument, "the request asks for nothing");
      break;
  }
  return response;
}

// One answer for each request, until the client has no more.
class ReflectionHandler : public Handler {
 public:
  ReflectionHandler(Call& call, const std::vector<std::string>& services)
      : call_(call), services_(services) {
    call_.Read();
  }

  void OnMessage(Message message) override {
    if (message.size() > kLargestRequest) {
      return call_.Finish({Code::kResourceExhausted,
                           "a reflection request of more than 16 KiB"});
    }
    request_ = message.Joined();
    call_.Offload([this] { Serve(); });
  }
  void OnSent() override { call_.Read(); }
  void OnHalfClose() override { call_.Finish({}); }

 private:
  void Serve() {
    ServerReflectionRequest request;
    const Bytes bytes = std::exchange(request_, {});
    if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return call_.Finish({Code::kInvalidArgument,
                           "the request is no ServerReflectionRequest"});
    }
    call_.Write(Message(
        Bytes::FromString(ToAnswer(request, services_).SerializeAsString())));
  }

  Call& call_;
  const std::vector<std::string>& services_;
  Bytes request_;
};

}  // namespace

std::unique_ptr<Handler> Reflection::Start(std::string_view method,
                                           Call& call) {
  if (method != "ServerReflectionInfo") return nullptr;
  return std::make_unique<ReflectionHandler>(call, services_);
}

}  // namespace casemate::rpc
