// Rotated tensors against the reference, on every instruction set: layouts, schemes, directions, dtypes; every tail.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "posenc/rotate.h"
#include "rotate/expect_rotated.h"
#include "rotate/heads.h"
#include "rotate/schemes.h"

namespace posenc::test::kernel_test {
namespace {

constexpr unsigned kSeed = 20210420;
constexpr Direction kDirections[] = {Direction::forward, Direction::inverse, Direction::transpose};
constexpr std::int64_t kStart = -50;
constexpr std::int64_t kCount = 250;

std::vector<std::int64_t> random_positions(std::int64_t count, std::mt19937_64& random) {
  std::uniform_int_distribution<std::int64_t> within(kStart, kStart + kCount - 1);
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  for (std::int64_t& x : out) x = within(random);
  return out;
}

std::string text(Pairing pairing) { return pairing == Pairing::half ? "half" : "interleaved"; }
std::string text(Direction direction) {
  constexpr const char* kNames[] = {"forward", "inverse", "transpose"};
  return kNames[static_cast<std::size_t>(direction)];
}

// One call, in place and out of place, on every instruction set.
class Comparison {
 public:
  Comparison(Suite& suite, const Rope& rope, const RotaryTable& table, std::mt19937_64& random)
      : suite_(suite), rope_(rope), table_(table), random_(random) {}

  void run(const TensorView& from_laid_out, const TensorView& to_laid_out, std::span<const std::int64_t> positions,
           Direction direction, Edge edge, std::int64_t misaligned, const std::string& where) {
    Heads x(from_laid_out, random_, edge, misaligned);
    Heads to(to_laid_out, random_, edge, misaligned);
    const std::vector<std::byte> before = x.memory();
    const std::vector<std::byte> to_before = to.memory();
    const std::vector<double> expected = reference_of(rope_, x.view(), positions, direction);
    std::vector<std::uint32_t> vectorised;  // bits of the instruction sets with a fused multiply-add, all the same
    for (const Isa isa : supported_isas()) {
      const std::string here = where + " " + std::string(name(isa));
      (void)rotate({.q = to.view(),
                    .q_from = x.view(),
                    .positions = positions,
                    .table = &table_,
                    .direction = direction,
                    .isa = isa});
      EXPECT_TRUE(x.memory() == before) << "the input changed: " << here;
      (void)rotate({.k = x.view(), .positions = positions, .table = &table_, .direction = direction, .isa = isa});
      suite_.ran(isa);
      expect_rotated(x, before, expected, layout(rope_), angle_bound(table_.attention_factor(), direction), suite_,
                     here);
      const std::vector<std::uint32_t> bits = bits_of(x.view());
      EXPECT_EQ(bits_of(to.view()), bits) << "out of place differs: " << here;
      expect_gaps_unchanged(to, to_before, here);
      if (isa == Isa::scalar) {
        scalar_ = bits;
      } else if (vectorised.empty()) {
        vectorised = bits;
        for (std::size_t i = 0; i < bits.size(); ++i) unlike_scalar_ += bits[i] != scalar_[i] ? 1 : 0;
        elements_ += static_cast<std::int64_t>(bits.size());
      } else {
        EXPECT_EQ(bits, vectorised) << "instruction sets differ: " << here;
      }
      x.restore(before);
      to.restore(to_before);
    }
  }

  // The scalar kernel rounds the sum of a fused multiply-add twice: about one result in 2^28 is another.
  static void expect_scalar_alike(std::int64_t unlike, std::int64_t elements) {
    EXPECT_LE(unlike, 1 + elements / (std::int64_t{1} << 24U)) << "of " << elements;
  }
  std::int64_t unlike_scalar() const { return unlike_scalar_; }
  std::int64_t elements() const { return elements_; }

 private:
  static void expect_gaps_unchanged(Heads& to, const std::vector<std::byte>& before, const std::string& where) {
    const std::vector<std::uint32_t> written = bits_of(to.view());
    const std::vector<std::uint32_t> old = bits_of(to.in(before));
    for_elements(to.view(), [&](std::int64_t offset, std::size_t i) { set_bits(to.view(), offset, old[i]); });
    EXPECT_TRUE(to.memory() == before) << "memory beside the output changed: " << where;
    for_elements(to.view(), [&](std::int64_t offset, std::size_t i) { set_bits(to.view(), offset, written[i]); });
  }

  Suite& suite_;
  const Rope& rope_;
  const RotaryTable& table_;
  std::mt19937_64& random_;
  std::vector<std::uint32_t> scalar_;
  std::int64_t unlike_scalar_ = 0;
  std::int64_t elements_ = 0;
};

TEST(RotateKernels, EqualTheReferenceInEveryLayout) {
  Suite suite("layouts");
  std::mt19937_64 random(kSeed);
  std::int64_t unlike = 0;
  std::int64_t elements = 0;
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    for (const Scheme& scheme : schemes(pairing, 42)) {
      const RotaryTable table = make_table(scheme.rope, {.start = kStart, .count = kCount});
      const std::int64_t axes = std::ssize(scheme.rope.axes.names);
      Comparison comparison(suite, scheme.rope, table, random);
      for (const Layout layout : kLayouts) {
        for (const DType dtype : kDTypes) {
          const Sizes sizes{2, 3, 3, scheme.rope.head_dim};
          const Layout other = is_rank_4(layout) ? Layout::bthd : Layout::gaps;
          const std::int64_t rows = (is_rank_4(layout) ? sizes.batch : 1) * sizes.tokens;
          for (const Direction direction : kDirections) {
            const std::string where = text(pairing) + ", " + scheme.name + ", " + name(layout) + ", " +
                                      std::string(name(dtype)) + ", " + text(direction);
            comparison.run(laid_out(layout, dtype, sizes), laid_out(other, dtype, sizes),
                           random_positions(axes * rows, random), direction, Edge::end, 0, where);
          }
        }
      }
      unlike += comparison.unlike_scalar();
      elements += comparison.elements();
    }
  }
  Comparison::expect_scalar_alike(unlike, elements);
  suite.expect();
}

// Twice the pairs of the longest step (32, bf16 in AVX-512), and some beyond; at both edges of forbidden pages.
TEST(RotateKernels, EqualTheReferenceAtEveryTailAndPlace) {
  Suite suite("tails");
  std::mt19937_64 random(kSeed + 1);
  std::vector<std::int64_t> tails;
  for (std::int64_t pairs = 1; pairs <= 66; ++pairs) tails.push_back(pairs);
  for (const std::int64_t pairs : {95, 127, 128, 129, 255}) tails.push_back(pairs);
  std::int64_t unlike = 0;
  std::int64_t elements = 0;
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    for (const std::int64_t pairs : tails) {
      const Rope rope{.pairing = pairing, .head_dim = 2 * pairs, .dim = 2 * pairs};
      const RotaryTable table = make_table(rope, {.start = kStart, .count = kCount});
      Comparison comparison(suite, rope, table, random);
      const Sizes sizes{1, 2, 2, rope.head_dim};
      for (const DType dtype : kDTypes) {
        for (const std::int64_t misaligned : {0, 1, 3}) {
          const Edge edge = (pairs + misaligned) % 2 == 0 ? Edge::begin : Edge::end;
          const std::string where = text(pairing) + ", " + std::to_string(pairs) + " pairs, " +
                                    std::string(name(dtype)) + ", " + std::to_string(misaligned) + " off";
          comparison.run(laid_out(Layout::thd, dtype, sizes), laid_out(Layout::thd, dtype, sizes),
                         random_positions(sizes.tokens, random), Direction::forward, edge, misaligned, where);
        }
      }
      unlike += comparison.unlike_scalar();
      elements += comparison.elements();
    }
  }
  Comparison::expect_scalar_alike(unlike, elements);
  suite.expect();
}

// Queries and keys of one fused projection [tokens, heads + 2 kv_heads, head_dim], and values that nobody may touch.
TEST(RotateKernels, RotateQueriesAndKeysOfOneProjection) {
  Suite suite("fused");
  std::mt19937_64 random(kSeed + 2);
  constexpr std::int64_t kTokens = 5;
  for (const std::int64_t kv_heads : {1, 2, 4}) {
    for (const DType dtype : kDTypes) {
      const Rope rope{.pairing = Pairing::half, .head_dim = 20, .dim = 16};
      const RotaryTable table = make_table(rope, {.start = 0, .count = 100});
      constexpr std::int64_t kHeads = 4;
      const std::int64_t all = kHeads + 2 * kv_heads;
      Heads fused(laid_out(Layout::thd, dtype, {1, kTokens, all, rope.head_dim}), random);
      const std::vector<std::byte> before = fused.memory();
      TensorView q = fused.view();
      TensorView k = fused.view();
      q.shape[1] = kHeads;
      k.shape[1] = kv_heads;
      k.data = static_cast<std::byte*>(k.data) + kHeads * rope.head_dim * bytes_of(dtype);
      std::vector<double> expected = reference_of(rope, fused.view(), PositionRange{40}, Direction::forward);
      const std::vector<double> old = values_of(fused.view());
      for (std::size_t i = 0; i < expected.size(); ++i) {  // the values
        if (static_cast<std::int64_t>(i) / rope.head_dim % all >= kHeads + kv_heads) expected[i] = old[i];
      }
      for (const Isa isa : supported_isas()) {
        (void)rotate({.q = q, .k = k, .positions = PositionRange{40}, .table = &table, .isa = isa});
        suite.ran(isa);
        expect_rotated(fused, before, expected, layout(rope), {}, suite, std::string(name(isa)));
        const std::vector<double> now = values_of(fused.view());
        for (std::size_t i = 0; i < now.size(); ++i) {
          if (static_cast<std::int64_t>(i) / rope.head_dim % all >= kHeads + kv_heads) {
            EXPECT_EQ(now[i], old[i]);
          }
        }
        fused.restore(before);
      }
    }
  }
  suite.expect();
}

TEST(RotateKernels, LeaveTensorsWithoutRowsOrHeadsAlone) {
  const Rope rope{.pairing = Pairing::half, .head_dim = 8, .dim = 8};
  const RotaryTable table = make_table(rope, {.count = 4});
  for (const Layout layout : kLayouts) {
    for (const Sizes& sizes : {Sizes{2, 0, 3, 8}, Sizes{2, 3, 0, 8}}) {
      const TensorView nothing = laid_out(layout, DType::f32, sizes);
      EXPECT_TRUE(rotate({.q = nothing, .k = nothing, .positions = PositionRange{}, .table = &table}));
      EXPECT_TRUE(rotate({.q = nothing, .q_from = nothing, .positions = PositionRange{}, .table = &table}));
    }
  }
  // A batch of nothing is not counted through.
  TensorView vast = laid_out(Layout::bhtd, DType::f32, {1, 1, 0, 8});
  vast.shape = {std::int64_t{1} << 40U, 0, std::int64_t{1} << 20U, 8};
  EXPECT_NO_THROW((void)rotate({.q = vast, .positions = PositionRange{-(std::int64_t{1} << 20U)}, .table = [&] {
                                  static const RotaryTable any = table_on_demand(rope);
                                  return &any;
                                }()}));
}

}  // namespace
}  // namespace posenc::test::kernel_test
