// attend over a view of a paged cache, of every scheme, against the reference on the tokens themselves; and what a
// thousand shifts leave of a cache: of a view nothing but what storing it took, of keys that are rotated again and
// again in 16 bits far more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "attend/fused/fused_bounds.h"
#include "attend/fused/in_dtype.h"
#include "attend/scheme_call.h"
#include "cpu/lower/weight_reader.h"
#include "math/layer_axes.h"
#include "posenc/attend.h"
#include "posenc/cache.h"
#include "posenc/cache/view.h"
#include "posenc/reference.h"
#include "posenc/rotate.h"
#include "support/error_ratio.h"
#include "support/every_isa.h"

namespace posenc::test::view_attend_test {
namespace {

constexpr std::uint64_t kSeed = 541;
constexpr std::int64_t kBlockSize = 4;
constexpr std::int64_t kBlocks = 16;
constexpr std::int64_t kQueries = 3;

// Sinks, a passage of another text, two passages that changed places, and new tokens: 14 tokens from 2 to 15.
CacheView operated(std::int64_t axes) {
  CacheView other(kBlockSize, axes);
  other.append(20, 12);
  CacheView view(kBlockSize, axes);
  view.append(1, 10);
  view.erase(2, 3);
  view.insert(4, other.passage(4, 5));
  const CacheView last = view.passage(9, 3);
  view.erase(9, 3);
  view.insert(2, last);
  view.append(42, 2);
  view.shift(2);
  return view;
}

// The cache rows of a view's tokens.
std::vector<std::int64_t> slots_of(const ViewRows& rows) {
  std::vector<std::int64_t> out;
  for (std::size_t row = 0; row < rows.k_order.size(); ++row) {
    if (rows.k_order[row] == kNoToken) continue;
    out.push_back(rows.block_table[row / kBlockSize] * kBlockSize + static_cast<std::int64_t>(row % kBlockSize));
  }
  return out;
}

// [blocks, block size, heads, channels] with these tokens, every other row NaN.
struct Cache {
  Cache(const std::vector<std::byte>& tokens, const Tensor& like, DType dtype, const std::vector<std::int64_t>& slots) {
    const auto row = static_cast<std::size_t>(like.shape[1] * like.shape[2] * bytes_of(dtype));
    bytes.resize(static_cast<std::size_t>(kBlocks * kBlockSize) * row, std::byte{0xFF});
    for (std::size_t t = 0; t < slots.size(); ++t) {
      std::copy_n(tokens.data() + t * row, row, bytes.data() + static_cast<std::size_t>(slots[t]) * row);
    }
    view = tensor(static_cast<const void*>(bytes.data()), dtype, {kBlocks, kBlockSize, like.shape[1], like.shape[2]});
  }
  std::vector<std::byte> bytes;
  ConstTensorView view;
};

// One entry for each row of a view, from those of its tokens.
template <typename T>
std::vector<T> by_rows(std::span<const T> of_tokens, const ViewRows& rows, std::size_t width, T of_none) {
  std::vector<T> out;
  std::size_t token = 0;
  for (const std::int64_t order : rows.k_order) {
    for (std::size_t c = 0; c < width; ++c) out.push_back(order == kNoToken ? of_none : of_tokens[token * width + c]);
    token += order == kNoToken ? 0 : 1;
  }
  return out;
}

TEST(CacheViewInAttend, IsWhatTheTokensThemselvesGive) {
  const std::vector<Isa> isas = every_isa("views");
  std::vector<ErrorRatio> ratios;
  for (const Isa isa : isas) ratios.emplace_back("a view, " + std::string(name(isa)));
  std::uint64_t seed = kSeed;
  for (const SchemeCase& scheme : all_schemes()) {
    if (scheme.batches_only) continue;
    const CacheView view = operated(math::axes_of(scheme.layer));
    const ViewRows rows = view_rows({&view, 1}, {&kQueries, 1});
    const std::vector<std::int64_t> slots = slots_of(rows);
    const std::int64_t tokens = view.tokens();
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Arrangement arrangement{
          .name = "cached", .mask = {.kind = MaskKind::causal}, .queries = kQueries, .keys = tokens};
      SchemeCall call(scheme, arrangement, Places::by_order, ++seed);
      const std::string where = scheme.name + ", " + std::string(name(dtype)) + ", seed " + std::to_string(seed);
      call.inputs.q_positions = PositionRange{.start = 2 + tokens - kQueries};
      call.inputs.k_positions = PositionRange{.start = 2};
      const std::vector<std::byte> q = in_dtype(call.q.values, dtype);
      const Cache k(in_dtype(call.k.values, dtype), call.k, dtype, slots);
      const Cache v(in_dtype(call.v.values, dtype), call.v, dtype, slots);
      const SchemeCall::Result wanted = call.by_formulas();
      const SchemeCall::Result bounds = fused_bounds(call, wanted, dtype);

      std::vector<std::byte> out(wanted.out.size() * static_cast<std::size_t>(bytes_of(dtype)));
      LayerInputs inputs = call.inputs;
      const std::vector<std::int32_t> segments = inputs.k_segments.empty()
                                                     ? std::vector<std::int32_t>{}
                                                     : by_rows<std::int32_t>(inputs.k_segments, rows, 1, 0);
      inputs.k_segments = segments;
      std::vector<double> gates;
      if (!inputs.log_forget.empty()) {
        const auto* given = static_cast<const double*>(inputs.log_forget.data);
        const auto width = static_cast<std::size_t>(scheme.layer.heads);
        gates = by_rows<double>({given, static_cast<std::size_t>(tokens) * width}, rows, width, 0.0);
        inputs.log_forget =
            tensor(static_cast<const void*>(gates.data()), DType::f64, {std::ssize(rows.k_order), scheme.layer.heads});
      }
      AttendArgs args{
          .out = tensor(static_cast<void*>(out.data()), dtype, {kQueries, call.layer.heads, call.layer.value_dim}),
          .q = tensor(static_cast<const void*>(q.data()), dtype, {kQueries, call.layer.heads, call.layer.head_dim}),
          .k = k.view,
          .v = v.view,
          .weights = call.weights,
          .inputs = inputs};
      rows.give(args);
      for (std::size_t i = 0; i < isas.size(); ++i) {
        args.isa = isas[i];
        ASSERT_TRUE(attend(call.layer, args)) << where;
        const std::vector<double> is = cpu::read_all(args.out);
        for (std::size_t n = 0; n < is.size(); ++n)
          ratios[i].add(std::abs(is[n] - wanted.out[n]), bounds.out[n], where);
      }
    }
  }
  for (const ErrorRatio& ratio : ratios) ratio.expect();
}

// A layer as large models have it, 64 tokens of one KV head, and queries behind them.
struct Shifted {
  static constexpr std::int64_t kTokens = 64;
  static constexpr std::int64_t kDim = 128;
  static constexpr std::int64_t kShifts = 1000;
  static constexpr std::int64_t kBlock = 16;

  Shifted() {
    for (float& x : q) x = static_cast<float>(random.number());
    for (float& x : k) x = static_cast<float>(random.number());
    for (float& x : v) x = static_cast<float>(random.number());
    std::vector<std::int64_t> slots(kTokens);
    for (std::size_t t = 0; t < slots.size(); ++t) slots[t] = static_cast<std::int64_t>(t);
    store(nullptr, unrotated, slots);
    store(&table, rotated, slots);
  }

  void store(const RotaryTable* with, std::vector<std::uint16_t>& cache, const std::vector<std::int64_t>& slots) {
    (void)rotate_into_cache({.k = tensor(k.data(), {kTokens, 1, kDim}),
                             .v = tensor(v.data(), {kTokens, 1, kDim}),
                             .positions = PositionRange{0},
                             .table = with,
                             .k_cache = tensor(cache.data(), DType::bf16, {kTokens, 1, kDim}),
                             .v_cache = tensor(values.data(), DType::bf16, {kTokens, 1, kDim}),
                             .slots = slots});
  }

  std::vector<float> attended(const std::vector<std::uint16_t>& keys, const CacheView& view, bool is_rotated) {
    std::vector<float> out(kDim);
    const ViewRows rows = view_rows({&view, 1}, {&one, 1});
    AttendArgs args{
        .out = tensor(out.data(), {1, 1, kDim}),
        .q = tensor(q.data(), {1, 1, kDim}),
        .k = tensor(static_cast<const void*>(keys.data()), DType::bf16, {kTokens / kBlock, kBlock, 1, kDim}),
        .v = tensor(static_cast<const void*>(values.data()), DType::bf16, {kTokens / kBlock, kBlock, 1, kDim})};
    rows.give(args);
    args.inputs.k_rotated = is_rotated;
    EXPECT_TRUE(attend(layer, args));
    return out;
  }

  // Keys as the float64 reference has them at the places where they end, against stored ones.
  double error_of(const std::vector<std::uint16_t>& keys, bool is_rotated) const {
    std::vector<double> wanted(k.size());
    const std::vector<double> exact(k.begin(), k.end());
    const Tensor x{exact, {kTokens, 1, kDim}};
    Tensor out{wanted, x.shape};
    (void)reference::rotate(rope, {.out = out.writable(), .x = x, .positions = PositionRange{kShifts}});
    Tensor is{cpu::read_all(tensor(static_cast<const void*>(keys.data()), DType::bf16, {kTokens * kDim})), x.shape};
    if (!is_rotated)
      (void)reference::rotate(rope, {.out = is.writable(), .x = Tensor(is), .positions = PositionRange{kShifts}});
    double apart = 0.0;
    double all = 0.0;
    for (std::size_t n = 0; n < is.values.size(); ++n) {
      apart += (is.values[n] - out.values[n]) * (is.values[n] - out.values[n]);
      all += out.values[n] * out.values[n];
    }
    return std::sqrt(apart / all);
  }

  Random random{kSeed};
  Rope rope{.pairing = Pairing::half, .head_dim = kDim, .dim = kDim, .base = 500000.0};
  LayerPlan layer{.heads = 1,
                  .kv_heads = 1,
                  .head_dim = kDim,
                  .value_dim = kDim,
                  .softmax_scale = 0.08838834764831845,
                  .rotate = {{.heads = 1, .scheme = rope}}};
  RotaryTable table = make_table(rope, {.count = 2048});
  std::vector<float> q = std::vector<float>(kDim);
  std::vector<float> k = std::vector<float>(kTokens * kDim);
  std::vector<float> v = std::vector<float>(kTokens * kDim);
  std::vector<std::uint16_t> unrotated = std::vector<std::uint16_t>(kTokens * kDim);
  std::vector<std::uint16_t> rotated = std::vector<std::uint16_t>(kTokens * kDim);
  std::vector<std::uint16_t> values = std::vector<std::uint16_t>(kTokens * kDim);
  std::int64_t one = 1;
};

TEST(CacheViewInAttend, AThousandShiftsAddNothingToWhatStoringTook) {
  Shifted cache;
  CacheView view(Shifted::kBlock);
  view.append(0, Shifted::kTokens);
  CacheView there = view;
  there.shift(Shifted::kShifts);
  const std::vector<std::uint16_t> before = cache.unrotated;
  const double stored = cache.error_of(cache.unrotated, false);
  const double rotated_once = cache.error_of(cache.rotated, true);
  for (std::int64_t n = 0; n < Shifted::kShifts; ++n) {
    view.shift(1);
    ASSERT_TRUE(rerotate({.k = tensor(cache.rotated.data(), DType::bf16, {Shifted::kTokens, 1, Shifted::kDim}),
                          .from_table = &cache.table,
                          .from_positions = PositionRange{n},
                          .to_table = &cache.table,
                          .to_positions = PositionRange{n + 1}}));
  }
  EXPECT_EQ(cache.unrotated, before);
  // To the bit what a cache gives whose tokens have stood there from the start.
  EXPECT_EQ(cache.attended(cache.unrotated, view, false), cache.attended(cache.unrotated, there, false));
  EXPECT_EQ(cache.error_of(cache.unrotated, false), stored);
  const double shifted = cache.error_of(cache.rotated, true);
  std::printf(
      "[  error   ] of keys in bf16: stored %.3g, after 1000 shifts of a view %.3g, rotated again each time %.3g\n",
      stored, cache.error_of(cache.unrotated, false), shifted);
  // A rounding to 8 bits is off by 2^-9 of a number at most, by some 2^-9 / sqrt(3) / 1.4 of it on average.
  EXPECT_LT(stored, 0x1p-9);
  EXPECT_GT(rotated_once, 1.0);  // where they were before, and not where they go to
  // Independent roundings would add up to sqrt(1000) = 32 times one; those of slow pairs, which are rounded to where
  // they were, do worse.
  EXPECT_GT(shifted, 20 * stored);
}

}  // namespace
}  // namespace posenc::test::view_attend_test
