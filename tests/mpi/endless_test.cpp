// For killed_test.py, which ends it: rings, one after another, until then.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "mpi/dealt.h"
#include "support/all_schemes.h"

namespace posenc::test::mpi_test {
namespace {

TEST(Mpi, DISABLED_Endless) {
  const SchemeCase scheme{.name = "plain", .layer = plain_layer()};
  SchemeCall call(scheme, {.name = "dealt", .mask = {.kind = MaskKind::causal}, .queries = 23, .keys = 23},
                  Places::by_order, 5);
  Dealt dealt(call, Dealing::zigzag, call.layer.mask);
  for (std::int64_t n = 0;; ++n) {
    (void)dealt.run();
    if (n > 0) continue;
    std::printf("rank %d is process %d\n", rank(), static_cast<int>(getpid()));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace posenc::test::mpi_test
