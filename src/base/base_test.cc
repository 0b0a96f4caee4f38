#include <gtest/gtest.h>

#include <thread>

#include "base/mutex.h"
#include "base/try.h"
#include "casemate/bytes.h"
#include "casemate/context.h"
#include "casemate/result.h"

namespace casemate {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Error{Code::kInvalidArgument, "odd"};
  return value / 2;
}

Result<int> Quarter(int value) {
  ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}

TEST(Result, PassesTheFirstErrorOn) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).error().code, Code::kInvalidArgument);
}

TEST(Result, WrapKeepsTheCodeAndPutsTheDeedFirst) {
  const Error error = Wrap({Code::kNotFound, "no such blob"}, "pull a/b");
  EXPECT_EQ(error.code, Code::kNotFound);
  EXPECT_EQ(error.message, "pull a/b: no such blob");
}

TEST(Result, CodesHaveTheNamesOfGrpc) {
  EXPECT_EQ(CodeName(Code::kDataLoss), "DATA_LOSS");
  EXPECT_EQ(CodeName(Code::kUnauthenticated), "UNAUTHENTICATED");
  EXPECT_EQ(CodeName(static_cast<Code>(99)), "UNKNOWN");
}

TEST(Context, IsEndlessByDefault) { EXPECT_TRUE(Context{}.Check()); }

TEST(Context, SaysWhetherItWasStoppedOrCameTooLate) {
  std::stop_source source;
  Context ctx;
  ctx.deadline = std::chrono::steady_clock::now();
  ctx.stop = source.get_token();
  EXPECT_EQ(ctx.Check().error().code, Code::kDeadlineExceeded);
  source.request_stop();
  EXPECT_EQ(ctx.Check().error().code, Code::kCancelled);
}

TEST(Bytes, SlicesShareTheBuffer) {
  const Bytes whole = Bytes::FromString("hello, world, this is long enough");
  const Bytes part = whole.Slice(7, 5);
  EXPECT_EQ(part.view(), "world");
  EXPECT_EQ(part.data(), whole.data() + 7);
  EXPECT_TRUE(whole.Slice(whole.size()).empty());
}

TEST(Bytes, OutliveTheirFirstOwner) {
  Bytes part;
  {
    const Bytes whole = Bytes::Copy(AsBytes("abc"));
    part = whole.Slice(1);
  }
  EXPECT_EQ(part.view(), "bc");
}

TEST(WakeOnStop, EndsAWait) {
  base::Mutex mutex;
  base::CondVar variable;
  std::stop_source source;
  Context ctx;
  ctx.stop = source.get_token();
  std::jthread stopper([&] { source.request_stop(); });
  base::WakeOnStop wake(ctx, mutex, variable);
  base::MutexLock lock(mutex);
  while (ctx.Check()) variable.Wait(mutex);
  EXPECT_EQ(ctx.Check().error().code, Code::kCancelled);
}

}  // namespace
}  // namespace casemate
