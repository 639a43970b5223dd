// attend_backward against the reference: every scheme, under every mask, on every instruction set, in every dtype.
#include "attend/backward/kernel_gradients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "support/all_schemes.h"
#include "support/every_isa.h"
#include "support/gradient_tolerances.h"
#include "support/throws.h"

namespace posenc::test::kernel_gradients_test {
namespace {

constexpr std::uint64_t kSeed = 271828;
constexpr std::array kNear{Places::by_order, Places::run, Places::scattered, Places::real};

bool sums_gates(const LayerPlan& layer) {
  return std::ranges::any_of(layer.score,
                             [](const ScoreTerm& term) { return std::holds_alternative<ContextualPosition>(term); });
}

double largest(const std::vector<double>& x) {
  double out = 0.0;
  for (const double y : x) out = std::max(out, std::abs(y));
  return out;
}

// What a wrong gradient looks like: zeroed, its sign turned, each head's (of what has no heads, each element) in the
// place of the next.
std::array<std::vector<double>, 3> mutants(const std::vector<double>& gradient, std::int64_t head) {
  std::vector<double> turned = gradient;
  for (double& x : turned) x = -x;
  std::vector<double> moved = gradient;
  std::rotate(moved.begin(), moved.begin() + head % std::max<std::int64_t>(std::ssize(moved), 1), moved.end());
  return {std::vector<double>(gradient.size()), std::move(turned), std::move(moved)};
}

// Calls that the reference answers once, and attend_backward on every instruction set.
class Comparison {
 public:
  explicit Comparison(const std::string& suite) {
    for (const Isa isa : every_isa(suite)) isas_.push_back({isa, ErrorRatio(suite + ", " + std::string(name(isa)))});
  }

  void compare(const SchemeCase& scheme, const Arrangement& arrangement, Places places, DType dtype = DType::f32,
               const std::vector<std::int64_t>& bias = {}, const std::vector<std::int64_t>& cuts = {}) {
    if (!fits(scheme, arrangement, places)) return;
    if (arrangement.orders_are_given && sums_gates(scheme.layer)) return;
    const std::string where = scheme.name + ", " + arrangement.name + " " + std::to_string(arrangement.queries) + "/" +
                              std::to_string(arrangement.keys) + ", places " + std::to_string(int(places)) + ", " +
                              std::string(name(dtype)) + ", seed " + std::to_string(kSeed + calls_);
    SCOPED_TRACE(where);
    KernelGradients gradients(scheme, arrangement, places, kSeed + calls_++, dtype, bias);
    const Gradients wanted = gradients.by_formulas();
    const std::vector<double> bounds = bounds_of(gradients, wanted, arrangement, dtype);
    for (OfIsa& own : isas_) {
      const Gradients is = cuts.empty() ? gradients.by_kernels(own.isa) : gradients.by_parts(own.isa, cuts);
      ASSERT_EQ(is.all.size(), wanted.all.size());
      for (std::size_t n = 0; n < is.all.size(); ++n) {
        ASSERT_EQ(is.all[n].name, wanted.all[n].name);
        for (std::size_t e = 0; e < is.all[n].values.size(); ++e) {
          const double error = std::abs(is.all[n].values[e] - wanted.all[n].values[e]);
          ASSERT_FALSE(std::isnan(error)) << is.all[n].name << ": element " << e << " was not written";
          const bool is_stored = n < 3;
          const double bound = is_stored ? stored_error(dtype, wanted.all[n].values[e], bounds[n]) : bounds[n];
          own.ratio.add(error, bound, where + ": " + is.all[n].name);
        }
        if (&own == &isas_.front())
          try_mutants(gradients.call, scheme.name, n, is.all[n], wanted.all[n], dtype, bounds[n]);
      }
    }
  }

  std::uint64_t expect() const {
    for (const OfIsa& own : isas_) own.ratio.expect();
    for (const auto& [gradient, told] : told_) {
      for (std::size_t n = 0; n < told.size(); ++n) EXPECT_TRUE(told[n]) << gradient << ", mutant " << n;
    }
    return calls_;
  }

 private:
  struct OfIsa {
    Isa isa;
    ErrorRatio ratio;
  };
  // Of each gradient.
  static std::vector<double> bounds_of(KernelGradients& gradients, const Gradients& wanted,
                                       const Arrangement& arrangement, DType dtype) {
    std::vector<double> most(wanted.all.size());
    for (std::uint64_t draw = 0; draw < kGradientDraws; ++draw) {
      const Gradients moved = gradients.moved(kGradientStep, draw);
      for (std::size_t n = 0; n < most.size(); ++n) {
        for (std::size_t e = 0; e < moved.all[n].values.size(); ++e) {
          most[n] = std::max(most[n], std::abs(moved.all[n].values[e] - wanted.all[n].values[e]));
        }
      }
    }
    const LayerPlan& layer = gradients.call.layer;
    GradientSizes sizes{.channels = static_cast<double>(std::max(layer.head_dim, layer.value_dim)),
                        .length = static_cast<double>(std::max(arrangement.queries, arrangement.keys))};
    for (const double lse : gradients.call.by_formulas().lse) {
      if (std::isfinite(lse)) sizes.scores = std::max(sizes.scores, std::abs(lse));
    }
    std::vector<double> out;
    for (std::size_t n = 0; n < most.size(); ++n) {
      out.push_back(fused_gradient(most[n] / kGradientStep, largest(wanted.all[n].values), sizes, dtype));
    }
    return out;
  }

  // Each mutant of each gradient of each scheme must fail the comparison under some mask at least.
  void try_mutants(const SchemeCall& call, const std::string& scheme, std::size_t place, const Gradients::One& is,
                   const Gradients::One& wanted, DType dtype, double bound) {
    if (largest(wanted.values) == 0.0) return;
    const std::array of_heads{&call.q, &call.k, &call.v};
    std::int64_t head = 1;
    if (place < of_heads.size()) {
      const std::vector<std::int64_t>& shape = of_heads[place]->shape;
      head = shape.back() * (shape.size() == 4 ? shape[2] : 1);
    }
    const bool is_one = is.values.size() == 1;  // which has no other place
    std::array<bool, 3>& told =
        told_.try_emplace(scheme + ": " + is.name, std::array{false, false, is_one}).first->second;
    const auto all = mutants(is.values, head);
    for (std::size_t n = 0; n < all.size(); ++n) {
      for (std::size_t e = 0; e < is.values.size() && !told[n]; ++e) {
        const double most = place < 3 ? stored_error(dtype, wanted.values[e], bound) : bound;
        told[n] = std::abs(all[n][e] - wanted.values[e]) > most;
      }
    }
  }

  std::vector<OfIsa> isas_;
  std::map<std::string, std::array<bool, 3>> told_;
  std::uint64_t calls_ = 0;
};

TEST(KernelGradients, AreTheReferencesForEverySchemeAndMask) {
  Comparison all("gradients of layers");
  for (const SchemeCase& scheme : all_schemes()) {
    std::size_t turn = 0;
    for (const Arrangement& arrangement : arrangements()) {
      for (const Places places : kNear) {
        if (turn == 0 || kNear[turn % kNear.size()] == places) all.compare(scheme, arrangement, places);
      }
      ++turn;
    }
  }
  EXPECT_GT(all.expect(), 700U);
}

TEST(KernelGradients, HoldInEveryDtype) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Comparison stored("gradients of layers in " + std::string(name(dtype)));
    std::size_t turn = 0;
    for (const SchemeCase& scheme : all_schemes()) {
      for (const Arrangement& arrangement : arrangements()) {
        if (turn++ % 3 == 0) stored.compare(scheme, arrangement, Places::by_order, dtype);
      }
    }
    EXPECT_GT(stored.expect(), 200U);
  }
}

// Queries that fill registers, blocks and units, keys that fill tiles, and one less and one more of each.
TEST(KernelGradients, HoldForEveryTail) {
  constexpr std::array kQueries{1, 2, 3, 8, 15, 16, 17, 31, 47, 48, 49, 65, 97};
  constexpr std::array kKeys{1, 63, 64, 65, 130};
  Comparison tails("gradients of layers of every length");
  std::size_t turn = 0;
  for (const SchemeCase& scheme : all_schemes()) {
    const std::int64_t queries = kQueries[turn % kQueries.size()];
    const Arrangement causal{.name = "causal",
                             .mask = {.kind = MaskKind::causal},
                             .batch = scheme.batches_only || turn % 3 == 0 ? 2 : 0,
                             .queries = queries,
                             .keys = kKeys[turn % kKeys.size()]};
    tails.compare(scheme, causal, queries > causal.keys || turn % 2 == 0 ? Places::scattered : Places::run);
    ++turn;
  }
  EXPECT_GT(tails.expect(), 60U);
}

// Several units of one KV head, which add to the same sums in turn: one of four query heads has 96 queries at most. Two
// tiles of keys for some, for most no more keys than it takes: what the reference does with them is nearly all the
// time.
TEST(KernelGradients, HoldForManyQueries) {
  Comparison many("gradients of many queries");
  const std::vector<SchemeCase> all = all_schemes();
  for (std::size_t n = 0; n < all.size(); n += 5) {
    const Arrangement long_one{.name = "bidirectional",
                               .mask = {.kind = MaskKind::bidirectional},
                               .batch = all[n].batches_only ? 2 : 0,
                               .queries = 103,
                               .keys = n % 25 == 0 ? 66 : 7};
    SchemeCase scheme = all[n];
    scheme.layer.kv_heads = 1;
    many.compare(scheme, long_one, all[n].side == 0 && !all[n].from_zero ? Places::run : Places::scattered);
  }
  EXPECT_GT(many.expect(), 10U);
}

// Where the first of the heads leaves out its far tiles, and one more has some that weigh little.
TEST(KernelGradients, HoldWhereAlibiLeavesTilesOut) {
  Comparison far("gradients beside far tiles");
  const SchemeCase scheme{.name = "ALiBi", .layer = with_term(Alibi{.heads = kHeads, .max_bias = 4.0})};
  far.compare(scheme, {.name = "causal", .mask = {.kind = MaskKind::causal}, .queries = 66, .keys = 200},
              Places::by_order);
  EXPECT_EQ(far.expect(), 1U);
}

// A tile that meets more places than are summed at a time (place_mass.h), of queries and of keys.
TEST(KernelGradients, HoldForManyPlaces) {
  Comparison many("gradients of many places");
  SchemeCase scheme{.name = "Shaw's keys, asked by both",
                    .layer = with_term(ShawKeys{.left = 200, .right = 200, .by_keys = true}),
                    .weights =
                        [](Tables& tables) {
                          return LayerWeights{.score = {ShawWeights{tables({401, kHeadDim})}}};
                        },
                    .side = 400};
  many.compare(scheme, {.name = "bidirectional", .mask = {.kind = MaskKind::bidirectional}, .queries = 50, .keys = 66},
               Places::scattered);
  EXPECT_EQ(many.expect(), 1U);
}

// Widths that no register divides, and those of models.
TEST(KernelGradients, HoldForEveryWidth) {
  struct Widths {
    std::int64_t key;
    std::int64_t value;
  };
  Comparison wide("gradients of heads of every width");
  std::size_t calls = 0;
  for (const auto& [key, value] :
       {Widths{16, 16}, Widths{17, 5}, Widths{40, 72}, Widths{64, 64}, Widths{128, 128}, Widths{192, 128}}) {
    for (const bool turns : {false, true}) {
      SchemeCase scheme{.name = std::to_string(key) + "/" + std::to_string(value), .layer = plain_layer()};
      if (turns) scheme.layer = with_rotation({.pairing = Pairing::half, .head_dim = key, .dim = key / 2 * 2});
      scheme.layer.head_dim = key;
      scheme.layer.value_dim = value;
      scheme.layer.softmax_scale = 1 / std::sqrt(static_cast<double>(key));
      const Arrangement causal{.name = "causal", .mask = {.kind = MaskKind::causal}, .queries = 17, .keys = 66};
      wide.compare(scheme, causal, Places::run, turns ? DType::f32 : DType::bf16);
      ++calls;
    }
  }
  EXPECT_EQ(wide.expect(), calls);
}

// As ring attention has them, for every scheme: those that sum along the keys pass on what gates are owed.
TEST(KernelGradients, OfPartsOfTheKeysAddUp) {
  Comparison parted("gradients of parts of the keys");
  const Arrangement causal{.name = "causal", .mask = {.kind = MaskKind::causal}, .queries = 33, .keys = 90};
  std::size_t turn = 0;
  for (const SchemeCase& scheme : all_schemes()) {
    const auto* values = std::get_if<RotatedValues>(&scheme.layer.value);
    const std::int64_t sums = std::ranges::count_if(scheme.layer.score, [](const ScoreTerm& term) {
      return std::holds_alternative<ContextualPosition>(term) || std::holds_alternative<ForgetGate>(term);
    });
    // Outputs that are rotated back have a share in each part's gradient of the frequencies.
    if (scheme.batches_only || (values != nullptr && values->inverse_on_output)) continue;
    if (sums == 0 && !scheme.layer.sinks && turn++ % 4 != 0) continue;
    parted.compare(scheme, causal, Places::scattered, DType::f32, {}, {0, 13, 14, 70, 90});
  }
  EXPECT_GT(parted.expect(), 15U);
}

// Each asked for alone is what it is beside all others, to the bit.
TEST(KernelGradients, MayBeAskedForOneByOne) {
  std::uint64_t seed = kSeed;
  for (const SchemeCase& scheme : all_schemes()) {
    SCOPED_TRACE(scheme.name);
    const std::vector<Arrangement> all = arrangements();
    const auto fitting =
        std::ranges::find_if(all, [&](const Arrangement& one) { return fits(scheme, one, Places::by_order); });
    ASSERT_NE(fitting, all.end());
    KernelGradients gradients(scheme, *fitting, Places::by_order, ++seed);
    for (const Gradients::One& wanted : gradients.by_kernels(Isa::automatic).all) {
      const Gradients is = gradients.by_kernels(Isa::automatic, {.only = wanted.name});
      ASSERT_EQ(is.all.size(), 1U);
      EXPECT_EQ(is.all[0].name, wanted.name);
      EXPECT_EQ(is.all[0].values, wanted.values) << wanted.name;
    }
  }
}

void expect_same(const Gradients& is, const Gradients& wanted) {
  ASSERT_EQ(is.all.size(), wanted.all.size());
  for (std::size_t n = 0; n < is.all.size(); ++n) EXPECT_EQ(is.all[n].values, wanted.all[n].values) << is.all[n].name;
}

// Of a prepared layer, whose biases reach as far as the call does, or not so far: the very bits of layer and weights.
TEST(KernelGradients, OfAPreparedLayerAreTheSame) {
  std::uint64_t seed = kSeed;
  for (const SchemeCase& scheme : all_schemes()) {
    SCOPED_TRACE(scheme.name);
    const Arrangement causal{.name = "causal",
                             .mask = {.kind = MaskKind::causal},
                             .batch = scheme.batches_only ? 2 : 0,
                             .queries = 40,
                             .keys = 40};
    KernelGradients gradients(scheme, causal, scheme.side == 0 ? Places::run : Places::scattered, ++seed);
    const Gradients wanted = gradients.by_kernels(Isa::automatic);
    for (const std::int64_t max_distance : {5, 200}) {
      const PreparedLayer prepared =
          prepare_layer(gradients.call.layer, gradients.call.weights, {.max_distance = max_distance});
      expect_same(gradients.by_kernels(Isa::automatic, {.prepared = &prepared}), wanted);
    }
  }
}

TEST(KernelGradients, OfAPreparedLayerAreOfItsWeights) {
  KernelGradients of(all_schemes().front(), arrangements().front(), Places::by_order, kSeed);
  const PreparedLayer prepared = prepare_layer(of.call.layer, of.call.weights, {.isa = Isa::scalar});
  const std::vector<float> sinks(static_cast<std::size_t>(kHeads));
  EXPECT_ERROR((void)attend_backward(prepared, {.weights = {.sinks = tensor(sinks.data(), {kHeads})}}),
               "[attend_backward] weights must be omitted, since the prepared layer has them but is given");
  if (selected_isa() == Isa::scalar) return;
  const std::string other =
      "[attend_backward] isa must be that of the prepared layer, scalar but is " + std::string(name(selected_isa()));
  EXPECT_ERROR((void)attend_backward(prepared, {.isa = selected_isa()}), other.c_str());
}

// A matrix of biases has a gradient of its own shape, summed where it is broadcast.
TEST(KernelGradients, OfAMatrixOfBiasesAreOfItsShape) {
  Comparison given("gradients of biases that are given");
  SchemeCase scheme{.name = "bias", .layer = plain_layer()};
  for (const bool capped : {false, true}) {
    if (capped) scheme.layer.soft_cap = SoftCap{.cap = 3.0, .order = SoftCap::Order::before_bias};
    const Arrangement batch{.name = "batch", .mask = {.kind = MaskKind::causal}, .batch = 2, .queries = 70, .keys = 70};
    const Arrangement row{.name = "row", .mask = {.kind = MaskKind::bidirectional}, .queries = 11, .keys = 67};
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{2, kHeads, 70, 70},
                                                   {1, kHeads, 70, 70},
                                                   {2, 1, 1, 70},
                                                   {70, 70},
                                                   {kHeads, 70, 1}}) {
      given.compare(scheme, batch, Places::by_order, DType::f32, shape);
    }
    given.compare(scheme, row, Places::by_order, DType::f32, {kHeads, 11, 67});
    given.compare(scheme, row, Places::by_order, DType::f32, {1, 67});
  }
  EXPECT_EQ(given.expect(), 14U);
}

TEST(KernelGradients, OfPagedKeysAreThoseOfTheRows) {
  const std::vector<SchemeCase> all = all_schemes();
  for (std::size_t n = 0; n < all.size(); n += 2) {
    if (all[n].batches_only) continue;
    SCOPED_TRACE(all[n].name);
    const Arrangement packed{.name = "packed",
                             .mask = {.kind = MaskKind::causal},
                             .queries = 75,
                             .keys = 150,
                             .cu_seqlens_q = {0, 5, 5, 75},
                             .cu_seqlens_k = {0, 70, 71, 150}};
    KernelGradients gradients(all[n], packed, all[n].side == 0 ? Places::by_order : Places::scattered, kSeed + n);
    expect_same(gradients.by_kernels(Isa::automatic, {.block_size = 16}), gradients.by_kernels(Isa::automatic));
  }
}

}  // namespace
}  // namespace posenc::test::kernel_gradients_test
