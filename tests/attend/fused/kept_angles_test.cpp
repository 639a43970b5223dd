// Cos and sin that a call keeps of all its rows are those that each tile has by itself.
#include "cpu/attend/kept_angles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "attend/fused/fused_call.h"
#include "cpu/attend/attend_call.h"
#include "cpu/machine/dispatch.h"
#include "support/all_schemes.h"
#include "support/every_isa.h"

namespace posenc::test::kept_angles_test {
namespace {

constexpr std::uint64_t kSeed = 20261123;
constexpr std::int64_t kFirst = 20;  // enough queries for a call to keep angles
constexpr std::int64_t kTokens = 29;

// The last sequence beside a long one, and beside two halves of it that keep nothing.
TEST(KeptAngles, AreThoseOfATile) {
  constexpr std::array<std::int32_t, 3> kLong{0, kFirst, kTokens};
  constexpr std::array<std::int32_t, 4> kHalves{0, kFirst / 2, kFirst, kTokens};
  for (const Isa isa : every_isa("kept angles")) {
    std::int64_t rotated = 0;
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
        ++rotated;
      }
    }
    EXPECT_GT(rotated, 30);
  }
}

// A call of one rotation, and what it keeps.
struct Kept {
  std::int64_t queries;  // numbers
  std::int64_t keys;
};
Kept kept_by(const Mask& mask, std::int64_t tokens, const cpu::AskedRows& asked) {
  SchemeCall call({.name = "rotation", .layer = with_rotation({.pairing = Pairing::half, .head_dim = 8, .dim = 8})},
                  {.name = "", .mask = mask, .queries = tokens, .keys = tokens}, Places::by_order, kSeed);
  const AttendArgs args{.q = call.q, .k = call.k, .v = call.v, .inputs = call.inputs};
  cpu::AttendCall made = cpu::attend_call(call.layer, args, call.sizes, cpu::kernels_for("test", Isa::scalar), {});
  const std::function<bool()> nobody;
  cpu::KeepGoing keep_going(nobody);
  cpu::keep_angles(made, asked, keep_going);
  return {std::ssize(made.rotations[0].of_queries), std::ssize(made.rotations[0].of_keys)};
}

// 4 pairs: 8 numbers a row.
TEST(KeptAngles, AreThoseThatAreAskedForTwice) {
  constexpr std::int64_t kRows = 30;
  const Kept all = kept_by({}, kRows, {.queries = 2 * kRows, .keys = 2 * kRows});
  EXPECT_EQ(all.queries, 8 * kRows);
  EXPECT_EQ(all.keys, 8 * kRows);
  const Kept half = kept_by({}, kRows, {.queries = 4 * kRows, .keys = 2 * kRows - 1});
  EXPECT_EQ(half.queries, 8 * kRows);
  EXPECT_EQ(half.keys, 0);
}

TEST(KeptAngles, AreNoMoreThanTheirMemory) {
  constexpr std::int64_t kMost = cpu::kMostKeptBytes / 4 / 8 / 2;  // tokens
  constexpr std::int64_t kOften = 10 * kMost;
  EXPECT_EQ(kept_by({}, kMost, {.queries = kOften, .keys = kOften}).keys, 8 * kMost);
  EXPECT_EQ(kept_by({}, kMost + 1, {.queries = kOften, .keys = kOften}).keys, 0);
  EXPECT_EQ(kept_by({}, kMost + 1, {.queries = kOften, .keys = 0}).queries, 8 * (kMost + 1));
}

}  // namespace
}  // namespace posenc::test::kept_angles_test
