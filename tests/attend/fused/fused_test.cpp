// attend against the reference: every scheme, under every mask, on every instruction set, in every dtype.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "attend/fused/fused_comparison.h"
#include "support/all_schemes.h"

namespace posenc::test::fused_test {
namespace {

constexpr std::array kNear{Places::by_order, Places::run, Places::scattered, Places::real};

TEST(Fused, IsTheReferenceForEverySchemeAndMask) {
  FusedComparison all("fused layers");
  for (const SchemeCase& scheme : all_schemes()) {
    std::size_t turn = 0;
    for (const Arrangement& arrangement : arrangements()) {
      // All ways of placing tokens under the first mask, each in turn under the others.
      for (const Places places : kNear) {
        if (turn == 0 || kNear[turn % kNear.size()] == places) all.compare(scheme, arrangement, places);
      }
      ++turn;
    }
  }
  EXPECT_GT(all.expect(), 700U);
}

TEST(Fused, HoldsFarOut) {
  FusedComparison far("fused layers from position 2^31 on");
  for (const SchemeCase& scheme : all_schemes()) {
    for (const Arrangement& arrangement : arrangements()) far.compare(scheme, arrangement, Places::far);
  }
  EXPECT_GT(far.expect(), 600U);
}

// Queries that fill registers, blocks and more, keys that fill tiles, and one less and one more of each: a few for
// each scheme, so that all of them meet many.
TEST(Fused, HoldsForEveryTail) {
  constexpr std::array kQueries{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33, 47, 48, 49, 63, 65};
  constexpr std::array kKeys{1, 63, 64, 65, 130};
  constexpr std::size_t kOfEach = 3;
  FusedComparison tails("fused layers of every length");
  std::size_t turn = 0;
  for (const SchemeCase& scheme : all_schemes()) {
    for (std::size_t n = 0; n < kOfEach; ++n, ++turn) {
      const std::int64_t queries = kQueries[turn % kQueries.size()];
      const Arrangement causal{.name = "causal",
                               .mask = {.kind = MaskKind::causal},
                               .batch = scheme.batches_only || turn % 3 == 0 ? 2 : 0,
                               .queries = queries,
                               .keys = kKeys[turn % kKeys.size()]};
      tails.compare(scheme, causal, queries > causal.keys || n % 2 == 0 ? Places::scattered : Places::run);
    }
  }
  EXPECT_GT(tails.expect(), 150U);
}

TEST(Fused, TakesEveryDtype) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    FusedComparison stored("fused layers in " + std::string(name(dtype)));
    for (const SchemeCase& scheme : all_schemes()) {
      for (const Arrangement& arrangement : arrangements()) {
        stored.compare(scheme, arrangement, Places::by_order, dtype);
      }
    }
    EXPECT_GT(stored.expect(), 600U);
  }
}

// Each scheme under a few masks, each mask with many schemes.
TEST(Fused, HoldsInProductsOfBfloat16) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    FusedComparison paired("fused layers by products of bf16, in " + std::string(name(dtype)), Products::bf16);
    std::size_t turn = 0;
    for (const SchemeCase& scheme : all_schemes()) {
      for (const Arrangement& arrangement : arrangements()) {
        if (turn++ % 3 == 0) paired.compare(scheme, arrangement, kNear[turn % kNear.size()], dtype);
      }
    }
    EXPECT_GT(paired.expect(), 150U);
  }
}

// Heads of any width, with values of another: those of every model, and those that no register divides.
struct Widths {
  std::int64_t key;
  std::int64_t value;
};
constexpr std::array kWidths{Widths{16, 16},   Widths{17, 5},    Widths{40, 72},   Widths{64, 64},  Widths{96, 33},
                             Widths{128, 128}, Widths{192, 128}, Widths{256, 256}, Widths{576, 512}};

void compare_widths(FusedComparison& wide) {
  for (const auto& [key, value] : kWidths) {
    for (const bool turns : {false, true}) {
      SchemeCase scheme{.name = std::to_string(key) + "/" + std::to_string(value), .layer = plain_layer()};
      if (turns) scheme.layer = with_rotation({.pairing = Pairing::half, .head_dim = key, .dim = key / 2 * 2});
      scheme.layer.head_dim = key;
      scheme.layer.value_dim = value;
      scheme.layer.softmax_scale = 1 / std::sqrt(static_cast<double>(key));
      for (const std::int64_t queries : {1, 49}) {
        const Arrangement causal{.name = "causal", .mask = {.kind = MaskKind::causal}, .queries = queries, .keys = 66};
        wide.compare(scheme, causal, Places::run, turns ? DType::f32 : DType::bf16);
      }
    }
  }
}

TEST(Fused, TakesEveryWidth) {
  FusedComparison wide("fused heads of every width");
  compare_widths(wide);
  EXPECT_EQ(wide.expect(), 2 * 2 * kWidths.size());
}

TEST(Fused, TakesEveryWidthInProductsOfBfloat16) {
  FusedComparison wide("fused heads of every width by products of bf16", Products::bf16);
  compare_widths(wide);
  EXPECT_EQ(wide.expect(), 2 * 2 * kWidths.size());
}

// Few queries on keys that are cut into parts, whose results are joined.
TEST(Fused, HoldsForKeysInParts) {
  constexpr std::array<std::int64_t, 5> kQueries{1, 2, 5, 1, 16};
  FusedComparison split("fused layers in parts");
  std::size_t turn = 0;
  for (const SchemeCase& scheme : all_schemes()) {
    const Arrangement decoding{.name = "causal",
                               .mask = {.kind = MaskKind::causal},
                               .batch = scheme.batches_only ? 2 : 0,
                               .queries = kQueries[turn++ % kQueries.size()],
                               .keys = 1100};
    split.compare(scheme, decoding, scheme.side == 0 ? Places::run : Places::scattered);
  }
  EXPECT_GT(split.expect(), 60U);
}

}  // namespace
}  // namespace posenc::test::fused_test
