// Keys rotated again against the reference, and against keys rotated from scratch; the error of many shifts.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "posenc/rotate.h"
#include "rotate/expect_rotated.h"
#include "rotate/heads.h"
#include "rotate/schemes.h"

namespace posenc::test::rerotate_test {
namespace {

constexpr unsigned kSeed = 577;
constexpr std::int64_t kRows = 70;  // a block of 64 and some

struct Change {
  std::string name;
  Rope from;
  Rope to;
  Angles from_angles = Angles::exact;
};

std::vector<Change> changes(Pairing pairing) {
  std::vector<Change> out;
  for (const Scheme& scheme : schemes(pairing, 18)) {
    out.push_back({std::string("shift, ") + scheme.name, scheme.rope, scheme.rope});
  }
  const Rope plain = out[0].from;
  Rope base = plain;
  base.base = 500000.0;
  Rope yarn = plain;
  yarn.scaling = YarnScaling{.factor = 4.0, .original_max_position_embeddings = 4096};
  Rope linear = plain;
  linear.scaling = LinearScaling{.factor = 8.0};
  out.push_back({"change of base", plain, base});
  out.push_back({"to an attention factor", plain, yarn});
  out.push_back({"from an attention factor", yarn, linear});
  out.push_back({"from float32 angles", plain, plain, Angles::float32});
  return out;
}

// [axes, kRows]; small ones, at which float32 angles are still near the exact ones.
std::vector<std::int64_t> random_positions(const Rope& rope, std::mt19937_64& random) {
  std::vector<std::int64_t> out(rope.axes.names.size() * kRows);
  for (std::int64_t& x : out) x = static_cast<std::int64_t>(random() % 4000);
  return out;
}

// R_to R_from^-1 of what is stored, in double.
std::vector<double> rotated_again(const Change& change, const ConstTensorView& k, const Positions& from,
                                  const Positions& to) {
  const std::int64_t d = change.from.head_dim;
  std::vector<double> out(static_cast<std::size_t>(k.shape[0] * k.shape[1] * d));
  const TensorView view = tensor(out.data(), {k.shape[0], k.shape[1], d});
  (void)reference::rotate(
      change.from,
      {.out = view, .x = k, .positions = from, .direction = Direction::inverse, .angles = change.from_angles});
  const std::vector<double> straight = out;
  (void)reference::rotate(change.to,
                          {.out = view, .x = tensor(straight.data(), {k.shape[0], k.shape[1], d}), .positions = to});
  return out;
}

TEST(Rerotate, IsTheInverseAndANewRotateInOneRounding) {
  Suite suite("rotated again");
  std::mt19937_64 random(kSeed);
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    for (const Change& change : changes(pairing)) {
      const RotaryTable from = make_table(change.from, {.count = 4000, .angles = change.from_angles});
      const RotaryTable to = table_on_demand(change.to);
      const double a_from = from.attention_factor();
      const double a_to = to.attention_factor();
      const double ulps = change.from_angles == Angles::exact ? kAngleMethodUlp : kFloat32ModelUlp;
      const AngleBound angles{a_to / a_from, combined_error(a_from, a_to, ulps)};
      for (const DType dtype : kDTypes) {
        Heads k(laid_out(Layout::gaps, dtype, {1, kRows, 2, change.from.head_dim}), random);
        Heads out(laid_out(Layout::htd, dtype, {1, kRows, 2, change.from.head_dim}), random);
        const std::vector<std::byte> before = k.memory();
        const std::vector<std::int64_t> old_positions = random_positions(change.from, random);
        const std::vector<std::int64_t> new_positions = random_positions(change.to, random);
        const std::vector<double> expected = rotated_again(change, k.view(), old_positions, new_positions);
        for (const Isa isa : supported_isas()) {
          RerotateArgs args{.k = out.view(),
                            .k_from = k.view(),
                            .from_table = &from,
                            .from_positions = old_positions,
                            .to_table = &to,
                            .to_positions = new_positions,
                            .isa = isa};
          (void)rerotate(args);
          EXPECT_TRUE(k.memory() == before) << "the input changed: " << change.name;
          args.k = k.view();
          args.k_from = {};
          (void)rerotate(args);
          suite.ran(isa);
          expect_rotated(k, before, expected, layout(change.from), angles, suite,
                         change.name + " " + std::string(name(isa)));
          EXPECT_EQ(bits_of(out.view()), bits_of(k.view())) << "out of place, " << change.name;
          k.restore(before);
        }
      }
    }
  }
  suite.expect();
}

// A key that was rotated, stored, and rotated again, against the key rotated to the new position at once. What storing
// it lost is rotated along.
TEST(Rerotate, EqualsRotatingFromScratch) {
  Suite suite("from scratch");
  std::mt19937_64 random(kSeed + 1);
  for (const Change& change : changes(Pairing::half)) {
    if (change.from_angles != Angles::exact) continue;
    const RotaryTable from = table_on_demand(change.from);
    const RotaryTable to = table_on_demand(change.to);
    const double a_from = from.attention_factor();
    const double a_to = to.attention_factor();
    const std::vector<std::int64_t> partner = partners(layout(change.from));
    for (const DType dtype : kDTypes) {
      for (const Isa isa : supported_isas()) {
        Heads k(laid_out(Layout::thd, dtype, {1, kRows, 1, change.from.head_dim}), random);
        const std::vector<std::int64_t> old_positions = random_positions(change.from, random);
        const std::vector<std::int64_t> new_positions = random_positions(change.to, random);
        const std::vector<double> x = values_of(k.view());
        const std::vector<double> expected = reference_of(change.to, k.view(), new_positions, Direction::forward);
        (void)rotate({.k = k.view(), .positions = old_positions, .table = &from, .isa = isa});
        const std::vector<double> stored = values_of(k.view());
        (void)rerotate({.k = k.view(),
                        .from_table = &from,
                        .from_positions = old_positions,
                        .to_table = &to,
                        .to_positions = new_positions,
                        .isa = isa});
        suite.ran(isa);
        const std::vector<double> now = values_of(k.view());
        const auto first = [&](std::size_t i, std::size_t j) {
          return rotated_bound(dtype, x[i], x[j], stored[i], a_from, table_error(a_from));
        };
        for (std::size_t i = 0; i < now.size(); ++i) {
          if (partner[i % partner.size()] < 0) continue;
          const std::size_t j = i - i % partner.size() + static_cast<std::size_t>(partner[i % partner.size()]);
          const double bound =
              a_to / a_from * std::hypot(first(i, j), first(j, i)) +
              rotated_bound(dtype, stored[i], stored[j], now[i], a_to / a_from, combined_error(a_from, a_to));
          suite.ratio(dtype).add(std::abs(now[i] - expected[i]), bound, change.name);
        }
      }
    }
  }
  suite.expect();
}

TEST(Rerotate, SpeaksOfPackedSequencesAndTheirTables) {
  std::mt19937_64 random(kSeed + 2);
  Rope rope{.pairing = Pairing::half, .head_dim = 32, .dim = 32};
  rope.scaling = DynamicScaling{.factor = 2.0, .max_position_embeddings = 64};
  const RotaryTable short_table = make_table(rope, {.count = 200, .length = 64});
  const RotaryTable long_table = make_table(rope, {.count = 200, .length = 500});
  const std::vector<const RotaryTable*> from{&short_table, &short_table};
  const std::vector<const RotaryTable*> to{&long_table, &short_table};
  const std::vector<std::int32_t> bounds{0, 90, 100};
  Heads k(laid_out(Layout::thd, DType::bf16, {1, 100, 2, 32}), random);
  const std::vector<std::byte> before = k.memory();
  (void)rerotate({.k = k.view(),
                  .from_positions = PositionRange{7},
                  .to_positions = PositionRange{3},
                  .cu_seqlens = bounds,
                  .from_tables = from,
                  .to_tables = to});
  const std::vector<std::uint32_t> together = bits_of(k.view());
  k.restore(before);
  for (std::size_t s = 0; s < 2; ++s) {
    TensorView one = k.view();
    one.shape[0] = bounds[s + 1] - bounds[s];
    one.data = static_cast<std::byte*>(one.data) + bounds[s] * one.strides[0] * 2;
    (void)rerotate({.k = one,
                    .from_table = from[s],
                    .from_positions = PositionRange{7},
                    .to_table = to[s],
                    .to_positions = PositionRange{3}});
  }
  EXPECT_EQ(bits_of(k.view()), together);
}

// ---- The figures of docs/rotation.md ----

constexpr std::int64_t kKeys = 32;
constexpr std::int64_t kDim = 128;
constexpr std::int64_t kOldest = 4096;

// A float without the bits that the dtype does not hold.
std::uint32_t shortened(DType dtype, float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (dtype == DType::f32) return bits;
  if (dtype == DType::bf16) return bits >> 16U;
  const std::uint32_t exponent = (bits >> 23U & 0xFFU) - 112;  // bias 15 where binary32 has 127
  return exponent > 30 ? 0U : (bits >> 16U & 0x8000U) | exponent << 10U | (bits >> 13U & 0x3FFU);
}

struct ShiftError {
  double rms = 0.0;      // over that of the keys
  double largest = 0.0;  // of a channel, over the same
};

// Keys of normally distributed numbers at 4096 are moved down `shifts` times, each time by `step` positions, as a
// cache does that drops its oldest tokens.
ShiftError error_of_shifts(DType dtype, std::int64_t shifts, std::int64_t step, Suite& suite) {
  const Rope rope{.pairing = Pairing::half, .head_dim = kDim, .dim = kDim, .base = 500000.0};
  const RotaryTable table = make_table(rope, {.count = kOldest + 1});
  const std::vector<std::int64_t> partner = partners(layout(rope));
  std::mt19937_64 random(kSeed + 3);
  std::normal_distribution<float> normal;
  Heads k(laid_out(Layout::thd, dtype, {1, kKeys, 1, kDim}), random);
  for_elements(k.view(),
               [&](std::int64_t offset, std::size_t) { set_bits(k.view(), offset, shortened(dtype, normal(random))); });
  std::vector<double> x = values_of(k.view());
  const std::vector<std::int64_t> last(kKeys, kOldest - shifts * step);
  const std::vector<double> expected = reference_of(rope, k.view(), last, Direction::forward);

  std::vector<double> bound(x.size());
  const auto see = [&](double angle_error) {  // one more rotate: what was off is rotated along
    const std::vector<double> now = values_of(k.view());
    std::vector<double> next(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t j = i - i % kDim + static_cast<std::size_t>(partner[i % kDim]);
      next[i] = std::hypot(bound[i], bound[j]) + rotated_bound(dtype, x[i], x[j], now[i], 1.0, angle_error);
    }
    bound = next;
    x = now;
  };
  double length = 0;
  for (const double value : x) length += value * value;
  std::vector<std::int64_t> here(kKeys, kOldest);
  (void)rotate({.k = k.view(), .positions = here, .table = &table});
  see(table_error(1.0));
  for (std::int64_t i = 0; i < shifts; ++i) {
    const std::vector<std::int64_t> there(kKeys, here[0] - step);
    (void)rerotate(
        {.k = k.view(), .from_table = &table, .from_positions = here, .to_table = &table, .to_positions = there});
    see(combined_error(1.0, 1.0));
    here = there;
  }
  ShiftError out;
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = std::abs(x[i] - expected[i]);
    suite.ratio(dtype).add(off, bound[i], std::to_string(shifts) + " shifts");
    sum += off * off;
    out.largest = std::max(out.largest, off);
  }
  out.rms = std::sqrt(sum / length);
  out.largest /= std::sqrt(length / static_cast<double>(x.size()));
  return out;
}

TEST(Rerotate, LosesLittleInManyShifts) {
  Suite suite("shifts");
  for (const DType dtype : kDTypes) {
    ShiftError by_shifts;
    for (const std::int64_t shifts : {0, 1, 10, 1000}) {
      by_shifts = error_of_shifts(dtype, shifts, 1, suite);
      std::printf("[  shifts  ] %s, %lld by 1: rms %.2g, largest %.2g\n", std::string(posenc::name(dtype)).c_str(),
                  static_cast<long long>(shifts), by_shifts.rms, by_shifts.largest);
    }
    const ShiftError at_once = error_of_shifts(dtype, 1, 1000, suite);
    std::printf("[  shifts  ] %s, 1 by 1000: rms %.2g, largest %.2g\n", std::string(posenc::name(dtype)).c_str(),
                at_once.rms, at_once.largest);
    EXPECT_LT(at_once.rms, by_shifts.rms / 5) << "one shift rounds once";
  }
  suite.ran(selected_isa());
  suite.expect_ran_somewhere();
  suite.expect_ratios();
}

}  // namespace
}  // namespace posenc::test::rerotate_test
