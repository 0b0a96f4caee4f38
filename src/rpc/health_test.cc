#include "rpc/health.h"

#include <gtest/gtest.h>

#include <latch>

#include "grpc/health/v1/health.pb.h"
#include "testing/memory_call.h"

namespace casemate::rpc {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::health::v1::HealthListResponse;
using testing::MemoryCall;
using State = Health::State;

constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kList[] = "/grpc.health.v1.Health/List";
constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";

std::string About(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return request.SerializeAsString();
}

int StatusIn(const std::optional<std::string>& answer) {
  HealthCheckResponse response;
  if (!answer || !response.ParseFromString(*answer)) return -1;
  return response.status();
}

class HealthTest : public ::testing::Test {
 protected:
  int Check(const std::string& service) {
    const auto result =
        testing::CallUnary(health_, kCheck, About(service), pool_);
    EXPECT_TRUE(result.status.ok());
    return StatusIn(result.answer);
  }
  void Watch(MemoryCall& call, const std::string& service) {
    call.Send(About(service));
    call.HalfClose();
  }

  const std::vector<std::string> services_ = {"a.B", "c.D"};
  work::Pool pool_{"test", 1};
  Health health_{services_};
};

TEST_F(HealthTest, R272_CheckTellsTheStateOfTheWholeServerAndOfEachService) {
  EXPECT_EQ(Check(""), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check("a.B"), HealthCheckResponse::SERVING);
  health_.Set("a.B", State::kNotServing);
  EXPECT_EQ(Check("a.B"), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check("c.D"), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check(""), HealthCheckResponse::SERVING);
}

TEST_F(HealthTest, R272_NothingServesWhileTheServerDrains) {
  health_.Drain();
  EXPECT_EQ(Check(""), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check("a.B"), HealthCheckResponse::NOT_SERVING);
  health_.Set("a.B", State::kServing);
  EXPECT_EQ(Check("a.B"), HealthCheckResponse::NOT_SERVING);
}

TEST_F(HealthTest, R272_ChecksAreAnsweredWhileThePoolIsBusy) {
  const auto answered = std::make_shared<std::latch>(1);
  pool_.Run([answered] { answered->wait(); });
  EXPECT_EQ(Check(""), HealthCheckResponse::SERVING);
  answered->count_down();
}

TEST_F(HealthTest, R273_CheckOfAnUnknownServiceIsNotFound) {
  const auto result = testing::CallUnary(health_, kCheck, About("x.Y"), pool_);
  EXPECT_EQ(result.status.code, Code::kNotFound);
}

TEST_F(HealthTest, R274_WatchTellsTheStateAtOnceAndEachChange) {
  MemoryCall call(health_, kWatch, pool_);
  Watch(call, "a.B");
  EXPECT_EQ(StatusIn(call.Receive()), HealthCheckResponse::SERVING);
  health_.Set("c.D", State::kNotServing);  // Somebody else's.
  health_.Set("a.B", State::kNotServing);
  EXPECT_EQ(StatusIn(call.Receive()), HealthCheckResponse::NOT_SERVING);
  health_.Set("a.B", State::kServing);
  EXPECT_EQ(StatusIn(call.Receive()), HealthCheckResponse::SERVING);
  EXPECT_FALSE(call.ended());
}

TEST_F(HealthTest, R274_WatchOfAnUnknownServiceStaysOpenUntilItIsKnown) {
  MemoryCall call(health_, kWatch, pool_);
  Watch(call, "x.Y");
  EXPECT_EQ(StatusIn(call.Receive()), HealthCheckResponse::SERVICE_UNKNOWN);
  EXPECT_FALSE(call.ended());
  health_.Set("x.Y", State::kServing);
  EXPECT_EQ(StatusIn(call.Receive()), HealthCheckResponse::SERVING);
}

TEST_F(HealthTest, R274_WatchHearsOfADrainAndEnds) {
  MemoryCall call(health_, kWatch, pool_);
  Watch(call, "");
  EXPECT_EQ(StatusIn(call.Receive()), HealthCheckResponse::SERVING);
  health_.Drain();
  EXPECT_EQ(StatusIn(call.Receive()), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(call.Wait().code, Code::kUnavailable);
}

TEST_F(HealthTest, R274_WhoWatchesSlowlyHearsTheLastState) {
  MemoryCall call(health_, kWatch, pool_);
  Watch(call, "");
  for (int i = 0; i < 100; ++i) {
    health_.Set("", State::kNotServing);
    health_.Set("", State::kServing);
  }
  health_.Drain();
  call.Wait();
  EXPECT_LT(call.answers().size(), 4u);
  const std::string last(call.answers().back().Joined().view());
  EXPECT_EQ(StatusIn(last), HealthCheckResponse::NOT_SERVING);
}

TEST_F(HealthTest, R274_AWatchThatIsLeftIsForgotten) {
  for (int turn = 0; turn < 50; ++turn) {
    MemoryCall call(health_, kWatch, pool_);
    Watch(call, "");
    EXPECT_EQ(StatusIn(call.Receive()), HealthCheckResponse::SERVING);
  }
  health_.Set("", State::kNotServing);  // Tells nobody; the sanitizers look on.
}

TEST_F(HealthTest, R275_ListTellsAllServices) {
  health_.Set("c.D", State::kNotServing);
  const auto result = testing::CallUnary(health_, kList, "", pool_);
  HealthListResponse response;
  ASSERT_TRUE(response.ParseFromString(result.answer));
  EXPECT_EQ(response.statuses_size(), 3);
  EXPECT_EQ(response.statuses().at("").status(), HealthCheckResponse::SERVING);
  EXPECT_EQ(response.statuses().at("a.B").status(),
            HealthCheckResponse::SERVING);
  EXPECT_EQ(response.statuses().at("c.D").status(),
            HealthCheckResponse::NOT_SERVING);
}

TEST_F(HealthTest, R275_MoreThanAHundredAreNotListed) {
  for (int i = 0; i < 97; ++i) {
    health_.Set("s" + std::to_string(i), State::kServing);
  }
  EXPECT_TRUE(testing::CallUnary(health_, kList, "", pool_).status.ok());
  health_.Set("one more", State::kServing);
  EXPECT_EQ(testing::CallUnary(health_, kList, "", pool_).status.code,
            Code::kResourceExhausted);
}

TEST_F(HealthTest, RefusesWatchesThatAreNoCallsOfTheKind) {
  MemoryCall none(health_, kWatch, pool_);
  none.HalfClose();
  EXPECT_EQ(none.Wait().code, Code::kUnimplemented);
  MemoryCall two(health_, kWatch, pool_);
  two.Send("");
  two.Send("");
  EXPECT_EQ(two.Wait().code, Code::kUnimplemented);
  MemoryCall garbage(health_, kWatch, pool_);
  garbage.Send("\xff");
  EXPECT_EQ(garbage.Wait().code, Code::kInvalidArgument);
  MemoryCall unknown(health_, "/grpc.health.v1.Health/Other", pool_);
  EXPECT_EQ(unknown.Wait().code, Code::kUnimplemented);
}

}  // namespace
}  // namespace casemate::rpc
