#include "transfer/safe_link.h"

#include <gtest/gtest.h>

namespace casemate::transfer {
namespace {

TEST(SafeLink, MayClimbAsFarAsTheRoot) {
  EXPECT_TRUE(CheckLinkStaysInside(0, "a/b"));
  EXPECT_TRUE(CheckLinkStaysInside(2, "../../a"));
  EXPECT_TRUE(CheckLinkStaysInside(1, "./..//x/."));
}

TEST(SafeLink, MayNotLeaveTheTree) {
  EXPECT_FALSE(CheckLinkStaysInside(0, ".."));
  EXPECT_FALSE(CheckLinkStaysInside(1, "../../a"));
  EXPECT_FALSE(CheckLinkStaysInside(5, "/etc/passwd"));
}

TEST(SafeLink, MayNotClimbThroughWhatMayBeALink) {
  // With `self -> .`, the target "self/.." is the tree's parent.
  EXPECT_FALSE(CheckLinkStaysInside(0, "self/.."));
  EXPECT_FALSE(CheckLinkStaysInside(1, "../a/../b"));
}

}  // namespace
}  // namespace casemate::transfer
