// rotate_into_cache against the reference, and what it promises beside that.
#include "posenc/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "posenc/reference.h"
#include "reference/elements.h"
#include "rotate/cache_stages.h"
#include "rotate/cache_tensors.h"
#include "support/every_isa.h"
#include "support/heap_probe.h"
#include "support/ropes.h"
#include "support/tolerances.h"

namespace posenc::test::cache_test {
namespace {

// One ratio for each dtype of the cache.
class Ratios {
 public:
  explicit Ratios(const std::string& suite)
      : ratios_{ErrorRatio(suite + " f32"), ErrorRatio(suite + " f16"), ErrorRatio(suite + " bf16")} {}
  void add(const Stages& stages, const ConstTensorView& cache, std::span<const std::int64_t> slots,
           const std::string& where) {
    const Row& row = stages.row();
    std::size_t i = 0;
    for (const std::int64_t slot : slots) {
      ConstTensorView place = cache;
      place.shape[0] = 1;
      place.data = static_cast<const std::byte*>(cache.data) + slot * cache.strides[0] * bytes_of(cache.dtype);
      for_offsets(place, [&](std::int64_t offset) {
        const double bound = stored_error(cache.dtype, row.values[i], row.errors[i]);
        const double stored = reference::read(place, offset);
        if (bound == 0.0) {
          EXPECT_EQ(stored, row.values[i]) << where;  // neither rotated nor rounded
        } else {
          ratios_[static_cast<std::size_t>(cache.dtype)].add(std::abs(stored - row.values[i]), bound, where);
        }
        ++i;
      });
    }
  }
  void expect() const {
    for (const ErrorRatio& ratio : ratios_) ratio.expect();
  }

 private:
  std::array<ErrorRatio, 3> ratios_;
};

const std::vector<std::int64_t> kPositions{7, 100000, 0, -3};
const std::vector<std::int64_t> kSlots{5, 2, 6, 0};

TEST(Cache, EqualsReference) {
  std::mt19937_64 random(11);
  std::vector<NormCase> cases = norm_cases();
  Ratios ratios("cache");
  for (const Isa isa : every_isa("cache")) {
    for (std::size_t c = 0; c <= cases.size(); ++c) {
      // Every case meets two lengths, each dtype and pairing, over the whole sweep all of their combinations.
      const Pairing pairing = c % 2 == 0 ? Pairing::half : Pairing::interleaved;
      for (const std::int64_t dim : {18 + 2 * static_cast<std::int64_t>(c % 7), std::int64_t{128}}) {
        const Rope rope = middle(pairing, dim);
        const RotaryTable table = table_on_demand(rope);
        for (const DType from : kDTypes) {
          for (const DType to : kDTypes) {
            const Owned k = filled(from, {4, 3, rope.head_dim}, random, 2);
            const Owned cache = owned(to, {8, 3, rope.head_dim}, 1);
            const NormTensors norm =
                c < cases.size() ? tensors_of(cases[c], from, 3, rope.head_dim, random) : NormTensors{};
            CacheArgs args{.k = k.view,
                           .positions = std::span<const std::int64_t>(kPositions),
                           .table = &table,
                           .k_cache = cache.view,
                           .slots = kSlots,
                           .isa = isa};
            Stages stages(k.view, lanes_of(isa));
            const bool has_norm = c < cases.size();
            if (has_norm) args.norm = norm.norm;
            if (has_norm && cases[c].order == QkNorm::Order::before) stages.normalise(norm.norm);
            stages.rotate(rope, args.positions, table.attention_factor());
            if (has_norm && cases[c].order == QkNorm::Order::after) stages.normalise(norm.norm);
            (void)rotate_into_cache(args);
            ratios.add(stages, cache.view, kSlots,
                       std::string(posenc::name(isa)) + " " + (has_norm ? name(cases[c]) : "no norm") + ", " +
                           std::string(posenc::name(from)) + " to " + std::string(posenc::name(to)) + ", dim " +
                           std::to_string(dim));
          }
        }
      }
    }
  }
  ratios.expect();
}

// A mean a thousand times the deviations: what a mean in f32 alone would leave is outside the bound.
TEST(Cache, LayerNormOfNumbersFarFromZero) {
  std::mt19937_64 random(12);
  Ratios ratios("layer norm far from zero");
  for (const Isa isa : every_isa("layer norm far from zero")) {
    for (const DType to : kDTypes) {
      Owned k = owned(DType::f32, {4, 2, 1000});
      fill_uniform(k.view, random, 999.0, 1001.0);
      const Owned cache = owned(to, {8, 2, 1000});
      KeyNorm norm{.scheme = {.kind = QkNorm::Kind::layer, .weighted = false}};
      Stages stages(k.view, lanes_of(isa));
      stages.normalise(norm);
      (void)rotate_into_cache({.k = k.view, .norm = norm, .k_cache = cache.view, .slots = kSlots, .isa = isa});
      ratios.add(stages, cache.view, kSlots, std::string(posenc::name(isa)));
    }
  }
  ratios.expect();
}

TEST(Cache, WithoutANormTheBitsAreThoseOfRotate) {
  std::mt19937_64 random(13);
  for (const Isa isa : every_isa("cache without a norm")) {
    for (const DType dtype : kDTypes) {
      for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
        const Rope rope = middle(pairing, 34);
        const RotaryTable table = table_on_demand(rope);
        const Owned k = filled(dtype, {4, 3, rope.head_dim}, random);
        const Owned rotated = owned(dtype, {4, 3, rope.head_dim});
        const Owned cache = owned(dtype, {4, 3, rope.head_dim});
        const Owned v_cache = owned(dtype, {4, 3, rope.head_dim});
        (void)rotate({.k = rotated.view, .k_from = k.view, .positions = PositionRange{9}, .table = &table, .isa = isa});
        (void)rotate_into_cache({.k = k.view,
                                 .v = k.view,
                                 .positions = PositionRange{9},
                                 .table = &table,
                                 .k_cache = cache.view,
                                 .v_cache = v_cache.view,
                                 .slots = std::vector<std::int64_t>{0, 1, 2, 3},
                                 .isa = isa});
        EXPECT_EQ(cache.memory, rotated.memory) << posenc::name(isa) << " " << posenc::name(dtype);
        EXPECT_EQ(v_cache.memory, k.memory) << posenc::name(isa) << " " << posenc::name(dtype);
      }
    }
  }
}

// A batch of two in [batch, heads, tokens, head_dim], one token left out, into blocks of 4 whose k and v alternate, by
// two threads: each row is what a call for that token alone gives in a cache of rows.
TEST(Cache, PagedBatchEqualsSingleTokens) {
  std::mt19937_64 random(14);
  const std::int64_t tokens = 150;
  const Rope rope = middle(Pairing::half, 64);
  const RotaryTable table = make_table(rope, {.start = 0, .count = 1000});
  for (const Isa isa : every_isa("paged batch")) {
    for (const bool with_norm : {false, true}) {
      const Owned k = filled(DType::bf16, {2, 3, tokens, rope.head_dim}, random);
      const Owned v = filled(DType::f32, {2, 3, tokens, 40}, random, 8);
      const NormTensors norm = tensors_of({QkNorm::Kind::rms, QkNorm::Order::before, QkNorm::Over::head, Weights::head},
                                          DType::bf16, 3, rope.head_dim, random);
      const std::int64_t blocks = 80;
      // Of each block: 4 rows of k, then 4 rows of v, in halves.
      const std::int64_t block = 4 * 3 * (rope.head_dim + 40);
      Owned both = owned(DType::f16, {blocks, block});
      TensorView k_cache = both.view;
      k_cache.rank = 4;
      k_cache.shape = {blocks, 4, 3, rope.head_dim};
      k_cache.strides = {block, 3 * rope.head_dim, rope.head_dim, 1};
      TensorView v_cache = k_cache;
      v_cache.data = static_cast<std::uint16_t*>(both.view.data) + 4 * 3 * rope.head_dim;
      v_cache.shape[3] = 40;
      v_cache.strides = {block, 3 * 40, 40, 1};

      std::vector<std::int64_t> slots(static_cast<std::size_t>(4 * blocks));
      std::iota(slots.begin(), slots.end(), std::int64_t{0});
      std::ranges::shuffle(slots, random);
      slots.resize(static_cast<std::size_t>(2 * tokens));
      slots[17] = -1;
      CacheArgs args{.k = k.view,
                     .v = v.view,
                     .positions = PositionRange{500},
                     .table = &table,
                     .k_cache = k_cache,
                     .v_cache = v_cache,
                     .slots = slots,
                     .isa = isa};
      if (with_norm) args.norm = norm.norm;
      ThreadPool pool({.threads = 2});
      args.parallel = {.executor = pool.executor()};
      (void)rotate_into_cache(args);

      Owned expected = owned(DType::f16, {blocks, block});
      for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t t = 0; t < tokens; ++t) {
          const std::int64_t slot = slots[static_cast<std::size_t>(b * tokens + t)];
          if (slot < 0) continue;
          const auto token_of = [&](const TensorView& x) {
            const std::int64_t offset = b * x.strides[0] + t * x.strides[2];
            TensorView out = x;
            out.rank = 3;
            out.shape = {1, x.shape[1], x.shape[3]};
            out.strides = {1, x.strides[1], 1};
            out.data = static_cast<std::byte*>(x.data) + offset * bytes_of(x.dtype);
            return out;
          };
          const auto row_of = [&](const TensorView& cache) {
            TensorView out = cache;
            out.rank = 3;
            out.shape = {1, 3, cache.shape[3]};
            out.strides = {1, cache.strides[2], 1};
            const std::int64_t offset = slot / 4 * cache.strides[0] + slot % 4 * cache.strides[1];
            const auto from_first =
                static_cast<std::uint16_t*>(cache.data) - static_cast<std::uint16_t*>(both.view.data);
            out.data = static_cast<std::uint16_t*>(expected.view.data) + from_first + offset;
            return out;
          };
          CacheArgs single = args;
          single.k = token_of(k.view);
          single.v = token_of(v.view);
          single.k_cache = row_of(k_cache);
          single.v_cache = row_of(v_cache);
          const std::int64_t first[] = {0};
          single.slots = first;
          single.positions = PositionRange{500 + t};
          single.parallel = {.threads = 1};
          (void)rotate_into_cache(single);
        }
      }
      EXPECT_TRUE(both.memory == expected.memory) << posenc::name(isa) << (with_norm ? " with a norm" : "");
    }
  }
}

// Heads that do not fit the scratch together, and a norm over all of them.
TEST(Cache, ManyHeads) {
  std::mt19937_64 random(15);
  const std::int64_t heads = 150;
  const Rope rope = plain_rope(64);
  const RotaryTable table = table_on_demand(rope);
  const Owned k = filled(DType::f16, {4, heads, 64}, random);
  const std::vector<Isa> isas = every_isa("many heads");
  for (const auto over : {QkNorm::Over::head, QkNorm::Over::all_heads}) {
    Ratios ratios(over == QkNorm::Over::head ? "many heads" : "a norm of many heads");
    for (const Isa isa : isas) {
      for (const DType to : kDTypes) {
        const NormTensors norm = tensors_of({QkNorm::Kind::rms, QkNorm::Order::before, over, Weights::heads},
                                            DType::bf16, heads, 64, random);
        const Owned cache = owned(to, {8, heads, 64});
        Stages stages(k.view, lanes_of(isa));
        stages.normalise(norm.norm);
        stages.rotate(rope, std::span<const std::int64_t>(kPositions), 1.0);
        (void)rotate_into_cache({.k = k.view,
                                 .positions = std::span<const std::int64_t>(kPositions),
                                 .table = &table,
                                 .norm = norm.norm,
                                 .k_cache = cache.view,
                                 .slots = kSlots,
                                 .isa = isa});
        ratios.add(stages, cache.view, kSlots, std::string(posenc::name(isa)));
      }
    }
    ratios.expect();
  }
}

// Sequences that are packed, each with a table of its own, and layers that do not rotate.
TEST(Cache, PackedSequencesAndNoTable) {
  std::mt19937_64 random(16);
  const RotaryTable first = table_on_demand(plain_rope(32));
  const RotaryTable second = table_on_demand(plain_rope(32, 500000.0));
  const RotaryTable* const tables[] = {&first, &second};
  const Owned k = filled(DType::f32, {4, 2, 32}, random);
  const Owned rotated = owned(DType::f32, {4, 2, 32});
  const std::int32_t bounds[] = {0, 3, 4};
  const std::int64_t in_order[] = {0, 1, 2, 3};
  (void)rotate(
      {.k = rotated.view, .k_from = k.view, .positions = PositionRange{40}, .cu_seqlens = bounds, .tables = tables});
  CacheArgs args{
      .k = k.view, .positions = PositionRange{40}, .slots = in_order, .cu_seqlens = bounds, .tables = tables};
  Owned cache = owned(DType::f32, {4, 2, 32});
  args.k_cache = cache.view;
  (void)rotate_into_cache(args);
  EXPECT_EQ(cache.memory, rotated.memory);
  args.tables = {};
  (void)rotate_into_cache(args);
  EXPECT_EQ(cache.memory, k.memory);
}

TEST(Cache, CallsOfFewTokensTakeNothingFromTheHeap) {
  std::mt19937_64 random(17);
  const std::int64_t tokens = 200;
  const RotaryTable table = table_on_demand(plain_rope(128));
  const Owned k = filled(DType::f32, {tokens, 8, 128}, random);
  const Owned k_cache = owned(DType::bf16, {tokens, 8, 128});
  const Owned v_cache = owned(DType::bf16, {tokens, 8, 128});
  const NormTensors norm = tensors_of(
      {QkNorm::Kind::layer, QkNorm::Order::after, QkNorm::Over::all_heads, Weights::bias}, DType::bf16, 8, 128, random);
  std::vector<std::int64_t> backwards(static_cast<std::size_t>(tokens));
  std::iota(backwards.rbegin(), backwards.rend(), std::int64_t{0});
  const CacheArgs args{.k = k.view,
                       .v = k.view,
                       .positions = PositionRange{3},
                       .table = &table,
                       .norm = norm.norm,
                       .k_cache = k_cache.view,
                       .v_cache = v_cache.view,
                       .slots = backwards,
                       .parallel = {.threads = 1}};
  (void)rotate_into_cache(args);  // the first call of a process finds out what the machine can do
  const HeapProbe probe;
  (void)rotate_into_cache(args);
  EXPECT_EQ(probe.peak_growth(), 0);
}

}  // namespace
}  // namespace posenc::test::cache_test
