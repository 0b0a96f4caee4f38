// interop_server [--tls CERTIFICATE KEY] LISTENER…: serves TestService until
// stdin ends; prints one address a line once it listens.
#include "rpc/http2/server.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "interop/test_service.h"

namespace {

std::string Contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  using namespace casemate;
  rpc::ServerOptions options;
  rpc::Http2Options http2;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--tls" && i + 2 < argc) {
      http2.tls = {Contents(argv[i + 1]), Contents(argv[i + 2])};
      i += 2;
    } else {
      options.listeners.push_back(argv[i]);
    }
  }
  work::Pool pool("interop", 2);
  interop::TestService service;
  rpc::Service* const services[] = {&service};
  auto server = rpc::MakeHttp2Server(options, services, pool, http2);
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message.c_str());
    return 1;
  }
  for (const std::string& each : (*server)->addresses()) {
    std::printf("%s\n", each.c_str());
  }
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}
