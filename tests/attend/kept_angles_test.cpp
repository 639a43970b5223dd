// Cos and sin that a call keeps of all its rows are those that each tile has by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "attend/fused_call.h"
#include "support/all_schemes.h"
#include "support/every_isa.h"

namespace posenc::test {
namespace {

constexpr std::uint64_t kSeed = 20261123;
constexpr std::int64_t kFirst = 20;  // enough queries for a call to keep angles
constexpr std::int64_t kTokens = 29;

// The last sequence beside a long one, and beside two halves of it that keep nothing.
TEST(KeptAngles, AreThoseOfATile) {
  constexpr std::array<std::int32_t, 3> kLong{0, kFirst, kTokens};
  constexpr std::array<std::int32_t, 4> kHalves{0, kFirst / 2, kFirst, kTokens};
  for (const Isa isa : every_isa("kept angles")) {
    std::int64_t turned = 0;
    for (const SchemeCase& scheme : all_schemes()) {
      if (scheme.batches_only || scheme.layer.rotate.empty()) continue;
      SCOPED_TRACE(scheme.name);
      for (const Places places : {Places::by_order, Places::scattered, Places::real}) {
        const Arrangement packed{.name = "packed",
                                 .queries = kTokens,
                                 .keys = kTokens,
                                 .cu_seqlens_q = {kLong.begin(), kLong.end()},
                                 .cu_seqlens_k = {kLong.begin(), kLong.end()}};
        if (!fits(scheme, packed, places)) continue;
        SchemeCall call(scheme, packed, places, kSeed);
        const SchemeCall::Result kept = FusedCall(call).by_kernels(isa, {.threads = 2});
        call.inputs.cu_seqlens_q = call.inputs.cu_seqlens_k = kHalves;
        const SchemeCall::Result by_tile = FusedCall(call).by_kernels(isa);
        const std::int64_t outputs = kFirst * call.layer.heads * call.layer.value_dim;
        EXPECT_TRUE(std::equal(kept.out.begin() + outputs, kept.out.end(), by_tile.out.begin() + outputs));
        EXPECT_NE(kept.out, by_tile.out);
        ++turned;
      }
    }
    EXPECT_GT(turned, 30);
  }
}

}  // namespace
}  // namespace posenc::test
