// (1 + e)(1 - e) - 1 with e = 2^-30: two roundings give 0, one gives -2^-60.
#include <gtest/gtest.h>

#include "contract/product_sum.h"

namespace posenc::test::fp_contract_test {
namespace {

constexpr double kE = 0x1p-30;

bool has_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return true;  // in the baseline of every other machine that posenc knows
#endif
}

TEST(FpContract, OursRoundsTwice) {
  if (!has_fma()) GTEST_SKIP() << "this machine has no fused multiply-add";
  EXPECT_EQ(product_sum(1.0 + kE, 1.0 - kE, -1.0), 0.0);
}

TEST(FpContract, TheControlRoundsOnce) {
  if (!has_fma()) GTEST_SKIP() << "this machine has no fused multiply-add";
  EXPECT_EQ(contracted_product_sum(1.0 + kE, 1.0 - kE, -1.0), -0x1p-60);
}

}  // namespace
}  // namespace posenc::test::fp_contract_test
