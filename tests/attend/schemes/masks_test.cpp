// Which keys each mask shows, drawn: a row a query, x: seen.
#include <gtest/gtest.h>

#include <string>

#include "attend/attending.h"

namespace posenc::test::masks_test {
namespace {

using Drawing = std::vector<std::string>;

Drawing seen(const Mask& mask, std::int64_t queries, std::int64_t keys, const LayerInputs& inputs = {}) {
  LayerPlan layer = bare_layer();
  layer.mask = mask;
  const Tensor q = zeros({queries, 1, 1});
  const Tensor k = zeros({keys, 1, 1});
  const Attended got = attended(layer, {.q = q, .k = k, .v = k, .inputs = inputs});
  Drawing out;
  for (std::int64_t i = 0; i < queries; ++i) {
    out.emplace_back();
    for (std::int64_t j = 0; j < keys; ++j) out.back() += got.score(0, i, j) > 0 ? 'x' : '.';
  }
  return out;
}

TEST(Masks, Causal) { EXPECT_EQ(seen({}, 3, 3), (Drawing{"x..", "xx.", "xxx"})); }

TEST(Masks, Bidirectional) {
  EXPECT_EQ(seen({.kind = MaskKind::bidirectional, .detail = ""}, 2, 3), (Drawing{"xxx", "xxx"}));
}

TEST(Masks, LetTheLastQueryStandWithTheLastKey) {
  EXPECT_EQ(seen({}, 2, 4), (Drawing{"xxx.", "xxxx"}));
  EXPECT_EQ(seen({}, 4, 2), (Drawing{"..", "..", "x.", "xx"}));
}

TEST(Masks, TakeTheOrderThatIsGiven) {
  const std::vector<std::int64_t> queries{5, 0};
  const std::vector<std::int64_t> keys{7, 5, 3, 0};
  EXPECT_EQ(seen({}, 2, 4, {.q_order = queries}), (Drawing{"xxxx", "x..."}));
  EXPECT_EQ(seen({}, 2, 4, {.q_order = queries, .k_order = keys}), (Drawing{".xxx", "...x"}));
}

// Prefix language models, arXiv 1910.10683: the first tokens are seen by all.
TEST(Masks, Prefix) {
  EXPECT_EQ(seen({.kind = MaskKind::prefix, .detail = ""}, 4, 4, {.prefix = 2}),
            (Drawing{"xx..", "xx..", "xxx.", "xxxx"}));
  EXPECT_EQ(seen({.kind = MaskKind::prefix, .detail = ""}, 2, 2), (Drawing{"x.", "xx"}));
}

// sliding_window 2: the query and the one before it.
TEST(Masks, Window) {
  EXPECT_EQ(seen({.window = Window{.past = 1}, .detail = ""}, 4, 4), (Drawing{"x...", "xx..", ".xx.", "..xx"}));
  EXPECT_EQ(seen({.kind = MaskKind::bidirectional, .window = Window{.past = 1, .future = 2}, .detail = ""}, 4, 4),
            (Drawing{"xxx.", "xxxx", ".xxx", "..xx"}));
}

TEST(Masks, Chunk) {
  EXPECT_EQ(seen({.chunk = 2, .detail = ""}, 5, 5), (Drawing{"x....", "xx...", "..x..", "..xx.", "....x"}));
  const std::vector<std::int64_t> below{-3, -2, -1, 0};  // chunks -4 -3, -2 -1, 0 1
  EXPECT_EQ(
      seen({.kind = MaskKind::bidirectional, .chunk = 2, .detail = ""}, 4, 4, {.q_order = below, .k_order = below}),
      (Drawing{"x...", ".xx.", ".xx.", "...x"}));
}

TEST(Masks, Sparse) {
  const Tensor shown = tensor_of({2, 3}, {0, 1, 1, 1, 0, 0});
  EXPECT_EQ(seen({.kind = MaskKind::sparse, .detail = ""}, 2, 3, {.attn_mask = shown}), (Drawing{".xx", "x.."}));
}

TEST(Masks, TheCallersTakesAwayFromThePlans) {
  const Tensor shown = tensor_of({1, 3}, {1, 0, 1});
  EXPECT_EQ(seen({}, 3, 3, {.attn_mask = shown}), (Drawing{"x..", "x..", "x.x"}));
}

TEST(Masks, OfABiasThatIsMinusInfinity) {
  const Tensor bias = tensor_of({1, 3}, {0, -HUGE_VAL, 0});
  EXPECT_EQ(seen({}, 3, 3, {.bias = bias}), (Drawing{"x..", "x..", "x.x"}));
}

TEST(Masks, PackedSequencesEachHaveTheirOwn) {
  const std::vector<std::int32_t> queries{0, 2, 2, 3};
  const std::vector<std::int32_t> keys{0, 2, 3, 5};
  EXPECT_EQ(seen({}, 3, 5, {.cu_seqlens_q = queries, .cu_seqlens_k = keys}), (Drawing{"x....", "xx...", "...xx"}));
  EXPECT_EQ(seen({.kind = MaskKind::prefix, .detail = ""}, 3, 5,
                 {.cu_seqlens_q = queries, .cu_seqlens_k = keys, .prefix = 2}),
            (Drawing{"xx...", "xx...", "...xx"}));
}

// The matrix of a packed call has a row for each of its queries.
TEST(Masks, TheCallersOfPackedSequences) {
  const std::vector<std::int32_t> ends{0, 1, 3};
  const Tensor shown = tensor_of({3, 3}, {1, 1, 1, 1, 1, 1, 1, 0, 1});
  EXPECT_EQ(seen({}, 3, 3, {.cu_seqlens_q = ends, .cu_seqlens_k = ends, .attn_mask = shown}),
            (Drawing{"x..", ".x.", "..x"}));
}

}  // namespace
}  // namespace posenc::test::masks_test
