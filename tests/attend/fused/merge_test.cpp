// Attention over parts of the keys, merged, is attention over all of them: for every scheme, wherever the cuts are.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "attend/fused/fused_comparison.h"
#include "attend/lowered_size.h"
#include "cpu/lower/lower.h"
#include "posenc/attend.h"
#include "support/all_schemes.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::merge_test {
namespace {

constexpr std::uint64_t kSeed = 16022;
constexpr std::uint64_t kDraws = 4;  // of each scheme, so that the largest error hangs less on luck
constexpr std::int64_t kQueries = 21;
constexpr std::int64_t kKeys = 90;
const std::vector<std::int64_t> kCuts{0, 13, 14, 70, kKeys};

// Tensors of floats.
struct Floats {
  std::vector<float> values{};
  std::vector<std::int64_t> shape{};

  Floats() = default;
  explicit Floats(std::vector<std::int64_t> sizes) : shape(std::move(sizes)) {
    values.resize(static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, [](auto a, auto b) { return a * b; })));
  }
  explicit Floats(const Tensor& x) : values(x.values.begin(), x.values.end()), shape(x.shape) {}
  TensorView view() {
    TensorView out = Tensor{{}, shape}.writable();
    out.data = values.data();
    out.dtype = DType::f32;
    return out;
  }
};

// Rows first .. end - 1.
ConstTensorView rows(const ConstTensorView& x, std::int64_t first, std::int64_t end) {
  ConstTensorView out = x;
  out.data = static_cast<const char*>(x.data) + first * x.strides[0] * bytes_of(x.dtype);
  out.shape[0] = end - first;
  return out;
}

template <typename T>
std::vector<T> slice(std::span<const T> all, std::int64_t first, std::int64_t end) {
  return {all.begin() + first, all.begin() + end};
}

// A call of a layer, whole and in parts.
struct Parted {
  SchemeCall& call;
  Floats q{call.q};
  Floats k{call.k};
  Floats v{call.v};
  Floats carry{};

  struct Result {
    Floats out{};
    Floats lse{};
  };

  // Of keys first .. end - 1, without sinks.
  Result part(std::int64_t first, std::int64_t end) {
    Result result{Floats({kQueries, kHeads, call.layer.value_dim}), Floats({kQueries, kHeads})};
    LayerPlan layer = call.layer;
    layer.sinks = false;
    LayerWeights weights = call.weights;
    weights.sinks = {};
    LayerInputs inputs = call.inputs;
    std::vector<std::int64_t> q_order(kQueries);
    std::iota(q_order.begin(), q_order.end(), kKeys - kQueries);
    std::vector<std::int64_t> k_order(static_cast<std::size_t>(end - first));
    std::iota(k_order.begin(), k_order.end(), first);
    inputs.q_order = q_order;
    inputs.k_order = k_order;
    const auto axes = std::get<std::span<const std::int64_t>>(*call.inputs.k_positions);
    std::vector<std::int64_t> places;
    for (std::int64_t axis = 0; axis * kKeys < std::ssize(axes); ++axis) {
      const std::vector<std::int64_t> own = slice(axes.subspan(static_cast<std::size_t>(axis * kKeys)), first, end);
      places.insert(places.end(), own.begin(), own.end());
    }
    inputs.k_positions = std::span<const std::int64_t>(places);
    std::vector<std::int32_t> segments;
    if (!inputs.k_segments.empty()) segments = slice(call.inputs.k_segments, first, end);
    inputs.k_segments = segments;
    if (!inputs.log_forget.empty()) inputs.log_forget = rows(call.inputs.log_forget, first, end);
    (void)attend(layer, {.out = result.out.view(),
                         .q = q.view(),
                         .k = rows(k.view(), first, end),
                         .v = rows(v.view(), first, end),
                         .weights = weights,
                         .inputs = inputs,
                         .lse = result.lse.view(),
                         .carry = carry.shape.empty() ? TensorView{} : carry.view(),
                         .parallel = {.threads = 1}});
    return result;
  }
};

std::int64_t sums_along_keys(const LayerPlan& layer) {
  return std::ranges::count_if(layer.score, [](const ScoreTerm& term) {
    return std::holds_alternative<ContextualPosition>(term) || std::holds_alternative<ForgetGate>(term);
  });
}

TEST(Merge, OfPartsIsTheWhole) {
  ErrorRatio ratio("merged parts");
  ErrorRatio lse_ratio("merged parts, lse");
  std::uint64_t seed = kSeed;
  std::uint64_t carried = 0;
  bool has_two = false;
  const std::vector<SchemeCase> schemes = all_schemes();
  for (std::size_t drawn = 0; drawn < kDraws * schemes.size(); ++drawn) {
    const SchemeCase& scheme = schemes[drawn % schemes.size()];
    if (scheme.batches_only) continue;
    SCOPED_TRACE(scheme.name);
    SchemeCall call(scheme, {.name = "causal", .mask = {.kind = MaskKind::causal}, .queries = kQueries, .keys = kKeys},
                    Places::scattered, ++seed);
    for (Tensor* const x : {&call.q, &call.k, &call.v}) {
      for (double& one : x->values) one = static_cast<double>(static_cast<float>(one));
    }
    const SchemeCall::Result wanted = call.by_formulas();
    const SchemeCall::Result bounds = fused_bounds(call, wanted, DType::f32);
    const math::Lowered lowered = cpu::lower(call.layer, call.weights, call.inputs, call.sizes);
    const LoweredSizes sizes(lowered, call, kRotatedInFloats);
    Parted parted{.call = call};
    const std::int64_t sums = sums_along_keys(call.layer);
    if (sums == 1) parted.carry = Floats({kQueries, kHeads});
    if (sums == 2) parted.carry = Floats({2, kQueries, kHeads});
    if (sums > 0) ++carried;
    has_two |= sums == 2;
    std::vector<Parted::Result> results(kCuts.size() - 1);
    for (std::size_t n = results.size(); n-- > 0;) results[n] = parted.part(kCuts[n], kCuts[n + 1]);
    std::vector<AttendPart> parts;
    for (Parted::Result& one : results) parts.push_back({one.out.view(), one.lse.view()});
    // Into the memory of a part.
    merge({.out = results[1].out.view(),
           .lse = results[1].lse.view(),
           .parts = parts,
           .sinks = call.layer.sinks ? call.weights.sinks : ConstTensorView{}});
    const Parted::Result& is = results[1];
    for (std::size_t row = 0; row < wanted.lse.size(); ++row) {
      lse_ratio.add(std::abs(static_cast<double>(is.lse.values[row]) - wanted.lse[row]), bounds.lse[row], scheme.name);
      const auto width = static_cast<std::size_t>(call.layer.value_dim);
      for (std::size_t c = 0; c < width; ++c) {
        const std::size_t n = row * width + c;
        const Values values = sizes.values(row, c);
        const double bound = merged_output(bounds.out[n], bounds.lse[row], values.half_range,
                                           static_cast<double>(parts.size()), values.largest);
        ratio.add(std::abs(static_cast<double>(is.out.values[n]) - wanted.out[n]), bound, scheme.name);
      }
    }
  }
  EXPECT_GE(carried, 3 * kDraws);
  EXPECT_TRUE(has_two);
  ratio.expect();
  lse_ratio.expect();
}

// Two parts of one query each, by hand: weights 3 : 1, then a sink of as much as both.
TEST(Merge, WeighsPartsByTheirSums) {
  Floats out({1, 1, 2});
  Floats lse({1, 1});
  Floats a({1, 1, 2});
  Floats b({1, 1, 2});
  Floats nothing({1, 1, 2});
  a.values = {8.0F, 0.0F};
  b.values = {0.0F, 4.0F};
  nothing.values = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
  Floats lse_a({1, 1});
  Floats lse_b({1, 1});
  Floats lse_nothing({1, 1});
  lse_a.values = {100.0F};
  lse_b.values = {100.0F - std::log(3.0F)};
  lse_nothing.values = {-std::numeric_limits<float>::infinity()};
  std::vector<AttendPart> parts{
      {a.view(), lse_a.view()}, {nothing.view(), lse_nothing.view()}, {b.view(), lse_b.view()}};
  merge({.out = out.view(), .lse = lse.view(), .parts = parts});
  const double rounding = 8 * kFloatRounding * 100;  // of an lse of 100
  EXPECT_NEAR(out.values[0], 6.0, rounding);
  EXPECT_NEAR(out.values[1], 1.0, rounding);
  EXPECT_NEAR(lse.values[0], 100.0 + std::log(4.0 / 3.0), rounding);
  Tensor sink{{static_cast<double>(lse.values[0])}, {1}};
  merge({.out = out.view(), .lse = lse.view(), .parts = parts, .sinks = sink});
  EXPECT_NEAR(out.values[0], 3.0, rounding);
  EXPECT_NEAR(out.values[1], 0.5, rounding);
  EXPECT_NEAR(lse.values[0], 100.0 + std::log(4.0 / 3.0), rounding);
  parts = {parts[1], parts[1]};
  merge({.out = out.view(), .lse = lse.view(), .parts = parts, .sinks = sink});
  EXPECT_EQ(out.values, (std::vector<float>{0.0F, 0.0F}));
  EXPECT_EQ(lse.values[0], -std::numeric_limits<float>::infinity());
}

TEST(Merge, RefusesWhatDoesNotFit) {
  Floats out({2, 3, 4});
  Floats lse({2, 3});
  Floats other({2, 3, 5});
  Floats short_lse({2, 2});
  const auto with = [&](std::vector<AttendPart> parts, ConstTensorView sinks = {}) {
    merge({.out = out.view(), .lse = lse.view(), .parts = parts, .sinks = sinks});
  };
  EXPECT_ERROR(with({}), "[merge] parts must have at least 1 but is 0");
  EXPECT_ERROR(with({{out.view(), lse.view()}, {other.view(), lse.view()}}),
               "[merge] parts[1].out.shape[2] must be 4 but is 5");
  EXPECT_ERROR(with({{out.view(), short_lse.view()}}), "[merge] parts[0].lse.shape[1] must be 3 but is 2");
  EXPECT_ERROR(with({{out.view(), {}}}), "[merge] parts[0].lse must have rank 2 but is omitted");
  EXPECT_ERROR(with({{out.view(), lse.view()}}, Tensor{{1.0, 2.0}, {2}}), "[merge] sinks.shape[0] must be 3 but is 2");
  ConstTensorView doubles = out.view();
  doubles.dtype = DType::f64;
  EXPECT_ERROR(with({{doubles, lse.view()}}), "[merge] parts[0].out.dtype must be f32, f16 or bf16 but is f64");
  std::vector<float> longer(40);
  ConstTensorView shifted = out.view();
  out.values.resize(40);
  shifted.data = out.values.data() + 1;
  EXPECT_ERROR(with({{shifted, lse.view()}}),
               "[merge] out must not share memory with parts[0].out, unless they are the same but is memory of both");
  ConstTensorView unknown = out.view();
  unknown.dtype = static_cast<DType>(4);
  EXPECT_ERROR(with({{unknown, lse.view()}}), "[merge] parts[0].out.dtype must be f32, f16 or bf16 but is unknown");
  EXPECT_ERROR(
      with({{out.view(), lse.view()}}, {.data = out.values.data(), .dtype = DType(4), .rank = 1, .shape = {3}}),
      "[merge] sinks.dtype must be f32, f16, bf16 or f64 but is unknown");
}

// What is written may be what is read of a part, out its out and lse its lse, and nothing else.
TEST(Merge, RefusesMemoryOfBoth) {
  Floats out({2, 3, 1});
  Floats lse({2, 3});
  Floats part({2, 3, 1});
  Floats part_lse({2, 3});
  // The very places, with the stride of an axis that one of them does not have.
  TensorView of_out = lse.view();
  of_out.data = out.values.data();
  of_out.strides = out.view().strides;
  TensorView of_lse = out.view();
  of_lse.data = lse.values.data();
  of_lse.strides = lse.view().strides;
  std::vector<AttendPart> parts{{part.view(), part_lse.view()}};
  EXPECT_ERROR(merge({.out = out.view(), .lse = of_out, .parts = parts}),
               "[merge] lse must not share memory with out but is memory of both");
  const ConstTensorView sinks = tensor(out.values.data() + 3, {3});
  EXPECT_ERROR(merge({.out = out.view(), .lse = lse.view(), .parts = parts, .sinks = sinks}),
               "[merge] out must not share memory with sinks but is memory of both");
  EXPECT_ERROR(merge({.out = out.view(), .lse = lse.view(), .parts = parts, .sinks = tensor(lse.values.data(), {3})}),
               "[merge] lse must not share memory with sinks but is memory of both");
  parts[0].lse = of_out;
  EXPECT_ERROR(merge({.out = out.view(), .lse = lse.view(), .parts = parts}),
               "[merge] out must not share memory with parts[0].lse but is memory of both");
  parts[0] = {of_lse, part_lse.view()};
  EXPECT_ERROR(merge({.out = out.view(), .lse = lse.view(), .parts = parts}),
               "[merge] lse must not share memory with parts[0].out but is memory of both");
  parts[0] = {out.view(), lse.view()};
  merge({.out = out.view(), .lse = lse.view(), .parts = parts});
}

}  // namespace
}  // namespace posenc::test::merge_test
