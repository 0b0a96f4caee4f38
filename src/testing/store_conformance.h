// What every store and every decorator must do: one suite for all.
//
//   INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance,
//                            testing::ConformanceOf([] { … }));
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "casemate/blob_store.h"

namespace casemate::testing {

// An empty store and what it stands on, which ends after it.
struct StoreUnderTest {
  std::shared_ptr<void> ground;
  std::unique_ptr<BlobStore> store;
};

using MakeStore = std::function<StoreUnderTest()>;

class StoreConformance : public ::testing::TestWithParam<MakeStore> {
 protected:
  StoreConformance() : under_test_(GetParam()()), store_(*under_test_.store) {}

  const StoreUnderTest under_test_;
  BlobStore& store_;
};

// The generator for INSTANTIATE_TEST_SUITE_P. (Going through a function of the
// suite's own source also keeps the linker from leaving the suite out.)
::testing::internal::ParamGenerator<MakeStore> ConformanceOf(MakeStore make);

}  // namespace casemate::testing
