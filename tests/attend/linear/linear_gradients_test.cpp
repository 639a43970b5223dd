// attend_linear_backward against the reference: every mask, feature map, dtype and instruction set; on any threads;
// what is refused; and what a wrong gradient looks like there.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "attend/fused/in_dtype.h"
#include "attend/linear/linear_call.h"
#include "math/feature.h"
#include "posenc/reference_backward.h"
#include "support/every_isa.h"
#include "support/gradient_tolerances.h"
#include "support/throws.h"

namespace posenc::test::linear_gradients_test {
namespace {

constexpr std::uint64_t kSeed = 141421;
constexpr std::array kNames{"d_q", "d_k", "d_v", "inv_freq"};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Gradients = std::array<std::vector<double>, 4>;  // in the order of kNames

TensorView with(TensorView view, const void* data, DType dtype) {
  view.data = const_cast<void*>(data);
  view.dtype = dtype;
  return view;
}

struct GradientCase {
  LayerPlan layer;
  LinearRows rows;
  FeatureMap map;
  DType dtype;
  Tensor q, k, v, d_out;
  std::vector<double> q_places, k_places;

  GradientCase(const LinearRows& of_rows, FeatureMap of_map, DType of_dtype, std::int64_t value_dim, Pairing pairing,
               std::uint64_t seed)
      : layer(linear_layer(value_dim, pairing)), rows(of_rows), map(of_map), dtype(of_dtype) {
    layer.mask.kind = rows.mask;
    Random random(seed);
    const auto heads = [&](std::int64_t tokens, std::int64_t count, std::int64_t channels) {
      if (rows.batch > 0) return random_tensor(random, {rows.batch, count, tokens, channels});
      return random_tensor(random, {tokens, count, channels});
    };
    q = heads(rows.queries, layer.heads, layer.head_dim);
    k = heads(rows.keys, layer.kv_heads, layer.head_dim);
    v = heads(rows.keys, layer.kv_heads, layer.value_dim);
    d_out = heads(rows.queries, layer.heads, layer.value_dim);
    for (Tensor* const x : {&q, &k}) {  // denominators are above 0 then
      if (map == FeatureMap::identity) {
        for (double& c : x->values) c = std::abs(c) + 0.1;
      }
    }
    for (Tensor* const x : {&q, &k, &v, &d_out}) (void)in_dtype(x->values, dtype);
    const std::int64_t members = std::max<std::int64_t>(rows.batch, 1);
    for (std::int64_t t = 0; t < members * rows.queries; ++t) q_places.push_back(double(random.whole(0, 300)));
    for (std::int64_t t = 0; t < members * rows.keys; ++t) k_places.push_back(double(random.whole(0, 300)));
  }

  LayerInputs inputs() const {
    return {.q_positions = std::span(q_places),
            .k_positions = std::span(k_places),
            .cu_seqlens_q = rows.ends_q,
            .cu_seqlens_k = rows.ends_k};
  }
  std::int64_t pairs() const { return 6; }  // of linear_layer's 12 channels

  // The one gradient that is asked for, or all.
  Gradients by_kernels(Isa isa, std::int64_t threads = 1, int only = -1) {
    std::array<std::vector<std::byte>, 4> read;
    const std::array<Tensor*, 4> tensors{&q, &k, &v, &d_out};
    for (std::size_t n = 0; n < 4; ++n) read[n] = in_dtype(tensors[n]->values, dtype);
    std::array<std::vector<std::byte>, 3> written;
    std::array<TensorView, 3> views;
    for (std::size_t n = 0; n < 3; ++n) {
      written[n].assign(read[n].size(), std::byte{0xFF});
      if (only < 0 || only == int(n)) views[n] = with(tensors[n]->writable(), written[n].data(), dtype);
    }
    std::vector<double> frequencies(std::size_t(pairs()), kNan);
    std::vector<NamedGradient> named{{"inv_freq", tensor(frequencies.data(), {pairs()})}};
    if (only >= 0 && only < 3) named.clear();
    EXPECT_TRUE(attend_linear_backward(layer, {.q = with(q.writable(), read[0].data(), dtype),
                                               .k = with(k.writable(), read[1].data(), dtype),
                                               .v = with(v.writable(), read[2].data(), dtype),
                                               .inputs = inputs(),
                                               .feature_map = map,
                                               .d_out = with(d_out.writable(), read[3].data(), dtype),
                                               .d_q = views[0],
                                               .d_k = views[1],
                                               .d_v = views[2],
                                               .d_weights = named,
                                               .parallel = {.threads = threads},
                                               .isa = isa}));
    Gradients out;
    for (std::size_t n = 0; n < 3; ++n) {
      const auto count = std::int64_t(tensors[n]->values.size());
      out[n] = cpu::read_all(tensor(static_cast<const void*>(written[n].data()), dtype, {count}));
    }
    out[3] = frequencies;
    return out;
  }

  Gradients by_formulas() const { return reference_of(q, k, v, d_out); }

  // Where each number that they are made of is moved by `by` of itself.
  Gradients moved(double by, std::uint64_t seed) const {
    Random random(seed);
    std::array<Tensor, 4> of{q, k, v, d_out};
    for (Tensor& x : of) {
      for (double& y : x.values) y *= 1.0 + by * (random.uniform() < 0.5 ? -1.0 : 1.0);
    }
    return reference_of(of[0], of[1], of[2], of[3]);
  }

  GradientSizes sizes() const {
    return {.channels = double(std::max(layer.head_dim, layer.value_dim)),
            .length = double(std::max(rows.queries, rows.keys))};
  }
  double feature_roundings() const {
    if (map != FeatureMap::elu_plus_one) return 0.0;
    double below = 0.0;
    for (const Tensor* const x : {&q, &k}) {
      for (const double c : x->values) below = std::max(below, -c);
    }
    return feature_in_floats(below);
  }

 private:
  Gradients reference_of(const Tensor& of_q, const Tensor& of_k, const Tensor& of_v, const Tensor& of_d_out) const {
    std::array<Tensor, 3> d{of_q, of_k, of_v};
    std::vector<double> frequencies(std::size_t(pairs()), 0.0);
    const std::vector<NamedGradient> named{{"inv_freq", tensor(frequencies.data(), {pairs()})}};
    (void)reference::attend_linear_backward(layer, {.q = of_q,
                                                    .k = of_k,
                                                    .v = of_v,
                                                    .inputs = inputs(),
                                                    .feature_map = map,
                                                    .d_out = of_d_out,
                                                    .d_q = d[0].writable(),
                                                    .d_k = d[1].writable(),
                                                    .d_v = d[2].writable(),
                                                    .d_weights = named});
    return {d[0].values, d[1].values, d[2].values, frequencies};
  }
};

double furthest(const std::vector<double>& a, const std::vector<double>& b) {
  double out = 0.0;
  for (std::size_t n = 0; n < a.size(); ++n) out = std::max(out, std::abs(a[n] - b[n]));
  return out;
}

// The same numbers, turned on by a row of channels: to the next head, or of frequencies to the next pair.
std::vector<double> moved_on(std::vector<double> x, std::int64_t by) {
  if (!x.empty()) std::rotate(x.begin(), x.begin() + by % std::ssize(x), x.end());
  return x;
}

// Calls that the reference answers once, and the kernels on every instruction set. A wrong gradient, zeroed, its sign
// turned, or of other heads, must be seen by the same bounds.
class Comparison {
 public:
  Comparison() {
    for (const Isa isa : every_isa("linear gradients")) {
      const std::string suite = "linear gradients, " + std::string(name(isa));
      isas_.push_back({isa, ErrorRatio(suite), ErrorRatio(suite + ", stored in 16 bits")});
    }
  }

  void compare(const LinearRows& rows, DType dtype) {
    const std::uint64_t seed = kSeed + turn_;
    constexpr std::array kMaps{FeatureMap::elu_plus_one, FeatureMap::identity, FeatureMap::relu};
    constexpr std::array<std::int64_t, 3> kValueDims{16, 3, 50};
    const FeatureMap map = kMaps[turn_ % 3];
    const std::string where = rows.name + ", map " + std::to_string(int(map)) + ", " + std::string(name(dtype)) +
                              ", seed " + std::to_string(seed);
    SCOPED_TRACE(where);
    GradientCase call(rows, map, dtype, kValueDims[turn_ / 2 % 3],
                      turn_ % 2 == 0 ? Pairing::half : Pairing::interleaved, seed);
    ++turn_;
    const Gradients wanted = call.by_formulas();
    std::array<double, 4> moved{};
    for (std::uint64_t draw = 0; draw < kGradientDraws; ++draw) {
      const Gradients near = call.moved(kGradientStep, draw);
      for (std::size_t n = 0; n < 4; ++n) moved[n] = std::max(moved[n], furthest(near[n], wanted[n]));
    }
    for (std::size_t n = 0; n < 4; ++n) {
      const std::vector<double> none(wanted[n].size());
      const double bound =
          linear_gradient(moved[n] / kGradientStep, furthest(wanted[n], none), call.sizes(), call.feature_roundings());
      for (OfIsa& own : isas_) {
        const std::vector<double> is = call.by_kernels(own.isa)[n];
        for (std::size_t e = 0; e < is.size(); ++e) {
          const double most = n < 3 ? stored_error(dtype, wanted[n][e], bound) : bound;
          ErrorRatio& ratio = dtype == DType::f32 || n == 3 ? own.of_f32 : own.of_16_bits;
          ratio.add(std::abs(is[e] - wanted[n][e]), most, where + ": " + kNames[n]);
        }
      }
      if (furthest(wanted[n], none) == 0.0) continue;
      std::vector<double> turned = wanted[n];
      for (double& x : turned) x = -x;
      const std::int64_t head = n == 3 ? 1 : n == 2 ? call.layer.value_dim : call.layer.head_dim;
      for (const std::vector<double>& wrong : {none, turned, moved_on(wanted[n], head)}) {
        const double most = stored_error(dtype, furthest(wanted[n], none), bound);
        EXPECT_GT(furthest(wrong, wanted[n]), most) << kNames[n];
        ++mutants_;
      }
    }
  }

  std::int64_t expect() const {
    for (const OfIsa& own : isas_) {
      own.of_f32.expect();
      own.of_16_bits.expect();
    }
    return mutants_;
  }

 private:
  struct OfIsa {
    Isa isa;
    ErrorRatio of_f32;
    ErrorRatio of_16_bits;
  };
  std::vector<OfIsa> isas_;
  std::uint64_t turn_ = 0;
  std::int64_t mutants_ = 0;
};

TEST(LinearGradientsInFloats, AreTheReferences) {
  Comparison comparison;
  const std::vector<LinearRows> all = every_linear_rows();
  for (std::size_t n = 0; n < all.size(); ++n) {
    comparison.compare(all[n], DType::f32);
    if (n % 3 == 0) comparison.compare(all[n], n % 2 == 0 ? DType::f16 : DType::bf16);
  }
  EXPECT_GT(comparison.expect(), 150);
}

TEST(LinearGradientsInFloats, AreTheSameOnAnyThreadsAndAskedForAlone) {
  for (const LinearRows& rows : every_linear_rows()) {
    SCOPED_TRACE(rows.name);
    GradientCase call(rows, FeatureMap::elu_plus_one, DType::f32, 16, Pairing::half, kSeed);
    const Gradients wanted = call.by_kernels(Isa::automatic);
    for (const std::int64_t threads : {2, 3}) EXPECT_EQ(call.by_kernels(Isa::automatic, threads), wanted);
    for (int only = 0; only < 4; ++only) {
      const auto n = static_cast<std::size_t>(only);
      EXPECT_EQ(call.by_kernels(Isa::automatic, 2, only)[n], wanted[n]) << kNames[n];
    }
  }
}

// A causal layer of a head, whose rows at the end, and at the beginning, are NaN.
TEST(LinearGradientsInFloats, DoNotSeeWhatIsHidden) {
  const LinearRows rows{.name = "causal", .queries = 100, .keys = 100};
  constexpr std::size_t kHidden = 60;  // a row of the second chunk
  for (const Isa isa : every_isa("hidden rows of linear gradients")) {
    GradientCase call(rows, FeatureMap::elu_plus_one, DType::f32, 16, Pairing::half, kSeed);
    const Gradients wanted = call.by_kernels(isa);
    const auto spoil = [](Tensor& x, std::size_t row) {
      const auto width = static_cast<std::size_t>(x.shape[1] * x.shape[2]);
      std::fill_n(x.values.begin() + std::ptrdiff_t(row * width), width, kNan);
    };
    const auto expect_rows = [&](const Gradients& is, std::size_t n, std::size_t first, std::size_t end) {
      const std::size_t width = wanted[n].size() / 100;
      for (std::size_t e = first * width; e < end * width; ++e) ASSERT_EQ(is[n][e], wanted[n][e]) << kNames[n] << e;
    };
    GradientCase keys = call;  // queries before do not depend on them
    spoil(keys.k, kHidden);
    spoil(keys.v, kHidden);
    expect_rows(keys.by_kernels(isa), 0, 0, kHidden);
    GradientCase queries = call;  // nor keys after on these
    spoil(queries.q, kHidden);
    spoil(queries.d_out, kHidden);
    const Gradients is = queries.by_kernels(isa);
    expect_rows(is, 1, kHidden + 1, 100);
    expect_rows(is, 2, kHidden + 1, 100);
  }
}

TEST(LinearGradientsInFloats, RefuseWhatDoesNotFit) {
  LayerPlan layer = linear_layer(16);
  std::vector<float> q(5 * 4 * 16, 0.5F), k(5 * 2 * 16, 0.5F), v = k, d_out = q, d_q = q, d_k = k, d_v = v;
  std::vector<float> of_pairs(6);
  const auto heads = [](std::vector<float>& x) { return tensor(x.data(), {5, std::ssize(x) / 80, 16}); };
  std::vector<NamedGradient> named{{"inv_freq", tensor(of_pairs.data(), {6})}};
  const AttendLinearBackwardArgs good{.q = heads(q),
                                      .k = heads(k),
                                      .v = heads(v),
                                      .d_out = heads(d_out),
                                      .d_q = heads(d_q),
                                      .d_k = heads(d_k),
                                      .d_v = heads(d_v),
                                      .d_weights = named};
  EXPECT_TRUE(attend_linear_backward(layer, good));
  AttendLinearBackwardArgs args = good;
  args.d_out = heads(q);  // as for a loss of out . q
  EXPECT_TRUE(attend_linear_backward(layer, args));
  args = good;
  args.d_out = {};
  EXPECT_ERROR((void)attend_linear_backward(layer, args),
               "[attend_linear_backward] d_out must be given but is omitted");
  args = good;
  args.d_out.shape[0] = 4;
  EXPECT_ERROR((void)attend_linear_backward(layer, args),
               "[attend_linear_backward] d_out.shape must have the tokens of q but is 4");
  args = good;
  args.d_k = heads(d_q);
  EXPECT_ERROR((void)attend_linear_backward(layer, args),
               "[attend_linear_backward] d_k must have shape [5, 2, 16] but is [5, 4, 16]");
  args = good;
  args.d_q = heads(q);
  EXPECT_ERROR((void)attend_linear_backward(layer, args),
               "[attend_linear_backward] d_q must not share memory with q but is memory of both");
  args = good;
  named[0].name = "slopes";
  EXPECT_ERROR((void)attend_linear_backward(layer, args),
               "[attend_linear_backward] d_weights[\"slopes\"] must be of what the layer has learned, inv_freq, but is "
               "\"slopes\"");
  named[0].name = "inv_freq";
  layer.sinks = true;
  EXPECT_ERROR((void)attend_linear_backward(layer, good),
               "[attend_linear_backward] layer.sinks must be omitted in linear attention but is given");
  layer.sinks = false;
  int asked = 0;
  args = good;
  args.keep_going = [&] { return ++asked < 1; };
  std::vector<float> many(200 * 4 * 16, 0.5F), d_many = many, keys(200 * 2 * 16, 0.5F);
  args.q = args.d_out = tensor(many.data(), {200, 4, 16});
  args.k = args.v = tensor(keys.data(), {200, 2, 16});
  args.d_q = tensor(d_many.data(), {200, 4, 16});
  args.d_k = args.d_v = {};
  EXPECT_FALSE(attend_linear_backward(layer, args));
}

}  // namespace
}  // namespace posenc::test::linear_gradients_test
