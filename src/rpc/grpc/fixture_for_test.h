// A server on a free port, with the services that a test names.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rpc/grpc/client_for_test.h"
#include "rpc/grpc/grpc_server.h"
#include "rpc/grpc/services_for_test.h"

namespace casemate::rpc {

class GrpcTest : public ::testing::Test {
 protected:
  GrpcTest() { options_.listeners = {"127.0.0.1:0"}; }

  // "/NAME/Call" is served by what `maker` makes. Before Serve.
  void Add(std::string name, TestService::Maker maker) {
    services_.push_back(
        std::make_unique<TestService>(std::move(name), std::move(maker)));
  }
  void AddEcho() {
    Add("Echo", [](Call& call) { return std::make_unique<EchoHandler>(call); });
  }
  void AddNoting(NotingHandler::Start start) {
    Add("Noting", [this, start = std::move(start)](Call& call) {
      return std::make_unique<NotingHandler>(call, counts_, start);
    });
  }

  void Serve() {
    std::vector<Service*> services;
    for (const auto& each : services_) services.push_back(each.get());
    auto server = MakeGrpcServer(options_, services, pool_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    channel_ = Connect(server_->addresses().front());
  }

  ServerOptions options_;
  Counts counts_;
  std::vector<std::unique_ptr<TestService>> services_;
  work::Pool pool_{"test", 2};
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace casemate::rpc
