// rotate_into_cache_backward against the reference, the reference against central differences; on any threads; what is
// refused; and whether a gradient that is zeroed, turned or moved would be seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "posenc/cache/backward.h"
#include "posenc/reference.h"
#include "posenc/reference_backward.h"
#include "reference/elements.h"
#include "rotate/cache_stages.h"
#include "rotate/cache_tensors.h"
#include "support/error_ratio.h"
#include "support/every_isa.h"
#include "support/gradient_tolerances.h"
#include "support/throws.h"

namespace posenc::test::cache_backward_test {
namespace {

constexpr std::int64_t kTokens = 6;
constexpr std::int64_t kHeads = 3;
const std::vector<std::int64_t> kPlaces{7, 100000, 0, -3, 12, 500};
const std::vector<std::int64_t> kRows{5, 2, 6, -1, 0, 7};  // the fourth token is not stored

std::vector<double> numbers_of(const ConstTensorView& x) {
  std::vector<double> out;
  if (!x.empty()) for_offsets(x, [&](std::int64_t offset) { out.push_back(reference::read(x, offset)); });
  return out;
}

// Rows of a cache by slot; of a token that is not stored zeros.
std::vector<double> gathered(const ConstTensorView& cache, const std::vector<std::int64_t>& slots) {
  std::vector<double> out;
  for (const std::int64_t slot : slots) {
    ConstTensorView row = cache;
    row.shape[0] = 1;
    row.data = static_cast<const std::byte*>(cache.data) +
               std::max<std::int64_t>(slot, 0) * cache.strides[0] * bytes_of(cache.dtype);
    for_offsets(row, [&](std::int64_t offset) { out.push_back(slot < 0 ? 0.0 : reference::read(row, offset)); });
  }
  return out;
}

// ---- the reference ----

struct Loss {
  double sum = 0.0;   // of d_out normalise(x)
  double size = 0.0;  // of its terms' magnitudes
};
Loss loss(const ConstTensorView& x, const KeyNorm& norm, const std::vector<double>& d_out) {
  std::vector<double> out(d_out.size());
  const std::vector<std::int64_t> shape(x.shape.begin(), x.shape.begin() + x.rank);
  reference::normalise(tensor(out.data(), DType::f64, shape), x, norm);
  Loss made;
  for (std::size_t i = 0; i < out.size(); ++i) {
    made.sum += d_out[i] * out[i];
    made.size += std::abs(d_out[i] * out[i]);
  }
  return made;
}

TEST(CacheBackward, ReferenceEqualsCentralDifferences) {
  std::mt19937_64 random(21);
  std::uniform_real_distribution<double> uniform(-2.0, 2.0);
  ErrorRatio ratio("norm gradients of the reference");
  constexpr std::int64_t kDim = 5;
  for (const NormCase& which : norm_cases()) {
    if (which.order == QkNorm::Order::after) continue;  // the same norm
    NormTensors given = tensors_of(which, DType::f32, kHeads, kDim, random);
    const auto random_numbers = [&](std::size_t count) {
      std::vector<double> out(count);
      for (double& x : out) x = uniform(random);
      return out;
    };
    std::vector<double> x = random_numbers(2 * kHeads * kDim);
    const std::vector<double> d_out = random_numbers(x.size());
    std::vector<double> weight = numbers_of(given.norm.weight);
    std::vector<double> bias = numbers_of(given.norm.bias);
    const auto as = [](std::vector<double>& numbers, const ConstTensorView& like) {
      ConstTensorView out = like;
      out.data = numbers.data();
      out.dtype = DType::f64;
      return out;
    };
    KeyNorm norm = given.norm;
    if (!weight.empty()) norm.weight = as(weight, norm.weight);
    if (!bias.empty()) norm.bias = as(bias, norm.bias);
    const TensorView view = tensor(x.data(), {2, kHeads, kDim});
    std::vector<double> d_x(x.size()), d_weight(weight.size()), d_bias(bias.size());
    const auto written = [](std::vector<double>& numbers, const ConstTensorView& like) {
      return like.empty() ? TensorView{} : TensorView{numbers.data(), DType::f64, like.rank, like.shape, like.strides};
    };
    reference::normalise_backward({.x = view,
                                   .d_out = tensor(std::as_const(d_out).data(), {2, kHeads, kDim}),
                                   .norm = norm,
                                   .d_x = written(d_x, view),
                                   .d_weight = written(d_weight, norm.weight),
                                   .d_bias = written(d_bias, norm.bias)});
    const auto compare = [&](std::vector<double>& numbers, const std::vector<double>& gradient, const char* what) {
      ASSERT_EQ(numbers.size(), gradient.size());
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto difference = [&](double h) {
          const double before = numbers[i];
          numbers[i] = before + h;
          const double above = loss(view, norm, d_out).sum;
          numbers[i] = before - h;
          const double below = loss(view, norm, d_out).sum;
          numbers[i] = before;
          return (above - below) / (2 * h);
        };
        const double h = kDifferenceStep;
        // A term is rounded some 8 times; those of 30 terms and of the norms are independent of each other.
        const double rounding = 8 * loss(view, norm, d_out).size / std::sqrt(30.0) * kDoubleRounding;
        ratio.add(std::abs((4 * difference(h) - difference(2 * h)) / 3 - gradient[i]), difference_bound(rounding, h),
                  name(which) + ": " + what);
      }
    };
    compare(x, d_x, "d_x");
    compare(weight, d_weight, "d_weight");
    compare(bias, d_bias, "d_bias");
  }
  ratio.expect();
}

// ---- the kernels ----

struct Compared {
  std::vector<double> is, wanted, bound;

  double largest() const {
    double out = 0.0;
    for (std::size_t i = 0; i < is.size(); ++i) {
      const double off = std::abs(is[i] - wanted[i]);
      const double ratio = off == 0.0 ? 0.0 : off / bound[i];
      if (!(ratio <= out)) out = ratio;
    }
    return out;
  }
  // Zeroed, turned, and each head's numbers in the place of the next head's.
  void expect_that_mutants_fail(std::size_t head, const std::string& where) const {
    Compared mutant = *this;
    for (double& x : mutant.is) x = 0.0;
    EXPECT_GT(mutant.largest(), 1.0) << where << ", zeroed";
    for (std::size_t i = 0; i < is.size(); ++i) mutant.is[i] = -is[i];
    EXPECT_GT(mutant.largest(), 1.0) << where << ", turned";
    if (is.size() <= head) return;
    for (std::size_t i = 0; i < is.size(); ++i) mutant.is[i] = is[(i + head) % is.size()];
    EXPECT_GT(mutant.largest(), 1.0) << where << ", moved";
  }
};

struct KernelCall {
  const NormCase& which;
  const Rope& rope;
  const RotaryTable& table;
  DType from;  // of k, d_k and the weight
  DType to;    // of the cache's gradient

  std::array<Compared, 3> run(Isa isa, std::mt19937_64& random) const {
    const std::int64_t dim = rope.head_dim;
    const Owned k = filled(from, {kTokens, kHeads, dim}, random, 2);
    const Owned d_cache = filled(to, {8, kHeads, dim}, random, 1);
    const NormTensors given = tensors_of(which, from, kHeads, dim, random);
    const Owned d_k = owned(from, {kTokens, kHeads, dim}, 3);
    CacheBackwardArgs args{.d_k_cache = d_cache.view,
                           .k = k.view,
                           .positions = std::span<const std::int64_t>(kPlaces),
                           .table = &table,
                           .norm = given.norm,
                           .slots = kRows,
                           .d_k = d_k.view,
                           .isa = isa};
    const auto like = [&](const ConstTensorView& x) {
      return x.empty() ? Owned{} : owned(DType::f32, {x.shape.begin(), x.shape.begin() + x.rank});
    };
    const Owned d_weight = like(given.norm.weight);
    const Owned d_bias = like(given.norm.bias);
    args.d_norm_weight = d_weight.view;
    args.d_norm_bias = d_bias.view;
    EXPECT_TRUE(rotate_into_cache_backward(args));

    const double factor = table.attention_factor();
    const double lanes = lanes_of(isa);
    const bool after = which.order == QkNorm::Order::after;
    Stages keys(k.view, lanes);
    if (after) keys.rotate(rope, args.positions, factor);
    std::vector<double> d = gathered(d_cache.view, kRows);
    Stages gradients(k.view.shape, {d, std::vector<double>(d.size())}, lanes);
    if (!after) gradients.rotate(rope, args.positions, factor, Direction::transpose);
    std::vector<double> d_x(d.size());
    std::vector<double> of_weight = numbers_of(d_weight.view);
    std::vector<double> of_bias = numbers_of(d_bias.view);
    std::array<Compared, 3> out;
    out[1].is = of_weight;
    out[2].is = of_bias;
    const auto view = [&](const std::vector<double>& x) { return tensor(x.data(), {kTokens, kHeads, dim}); };
    const auto written = [](std::vector<double>& x, const ConstTensorView& shape) {
      return x.empty() ? TensorView{} : TensorView{x.data(), DType::f64, shape.rank, shape.shape, shape.strides};
    };
    reference::normalise_backward({.x = view(keys.row().values),
                                   .d_out = view(gradients.row().values),
                                   .norm = given.norm,
                                   .d_x = tensor(d_x.data(), {kTokens, kHeads, dim}),
                                   .d_weight = written(of_weight, d_weight.view),
                                   .d_bias = written(of_bias, d_bias.view)});
    Row normalised;
    Stages passed(k.view.shape, keys.passed_back(given.norm, gradients.row(), d_x, normalised), lanes);
    if (after) passed.rotate(rope, args.positions, factor, Direction::transpose);
    out[0].is = numbers_of(d_k.view);
    out[0].wanted = passed.row().values;
    for (std::size_t i = 0; i < d.size(); ++i) {
      out[0].bound.push_back(stored_error(from, passed.row().values[i], passed.row().errors[i]));
    }
    out[1].wanted = of_weight;
    out[2].wanted = of_bias;
    const Row& of = gradients.row();
    for (std::size_t i = 0; i < std::max(of_weight.size(), of_bias.size()); ++i) {
      std::array<double, 2> products{};
      std::array<double, 2> errors{};
      for (std::size_t e = i; e < d.size(); e += of_weight.size()) {
        products[0] += std::abs(of.values[e] * normalised.values[e]);
        errors[0] += std::abs(of.values[e]) * normalised.errors[e] + of.errors[e] * std::abs(normalised.values[e]);
        products[1] += std::abs(of.values[e]);
        errors[1] += of.errors[e];
      }
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}}) {
        if (i >= out[n + 1].wanted.size()) continue;
        const double off = weight_gradient_error(products[n], errors[n], kTokens);
        out[n + 1].bound.push_back(stored_error(DType::f32, 0.0, off) +
                                   rounding_error(DType::f32, std::abs(out[n + 1].wanted[i]) + off));
      }
    }
    return out;
  }
};

TEST(CacheBackward, EqualsReference) {
  std::mt19937_64 random(22);
  const std::vector<NormCase> cases = norm_cases();
  constexpr std::array kNames{"d_k", "d_norm_weight", "d_norm_bias"};
  for (const Isa isa : every_isa("cache backward")) {
    const std::string suite = "cache backward, " + std::string(posenc::name(isa)) + ", ";
    std::array ratios{ErrorRatio(suite + kNames[0]), ErrorRatio(suite + kNames[1]), ErrorRatio(suite + kNames[2]),
                      ErrorRatio(suite + "d_k in 16 bits")};
    for (std::size_t c = 0; c < cases.size(); ++c) {
      const Pairing pairing = c % 2 == 0 ? Pairing::half : Pairing::interleaved;
      for (const std::int64_t dim : {18 + 2 * static_cast<std::int64_t>(c % 7), std::int64_t{128}}) {
        const Rope rope = middle(pairing, dim);
        const RotaryTable table = table_on_demand(rope);
        for (const DType from : kDTypes) {
          const DType to = kDTypes[(static_cast<std::size_t>(from) + c) % 3];
          const std::string where = name(cases[c]) + ", " + std::string(posenc::name(from)) + " of " +
                                    std::string(posenc::name(to)) + ", dim " + std::to_string(dim);
          const std::array<Compared, 3> made = KernelCall{cases[c], rope, table, from, to}.run(isa, random);
          for (std::size_t n = 0; n < made.size(); ++n) {
            ASSERT_EQ(made[n].is.size(), made[n].bound.size()) << where;
            ratios[n == 0 && from != DType::f32 ? 3 : n].add(made[n].largest(), 1.0, where);
            if (!made[n].is.empty()) {
              made[n].expect_that_mutants_fail(static_cast<std::size_t>(rope.head_dim), where + ": " + kNames[n]);
            }
          }
        }
      }
    }
    for (const ErrorRatio& ratio : ratios) ratio.expect();
  }
}

// A batch in [batch, heads, tokens, head_dim] with values, from pages; by one thread and by several.
TEST(CacheBackward, IsTheSameOnAnyThreads) {
  std::mt19937_64 random(23);
  const Rope rope = middle(Pairing::half, 64);
  const RotaryTable table = make_table(rope, {.start = 0, .count = 2000});
  constexpr std::int64_t kBatch = 2, kLong = 700;
  const Owned k = filled(DType::bf16, {kBatch, kHeads, kLong, rope.head_dim}, random);
  const Owned d_k_cache = filled(DType::f32, {100, 16, kHeads, rope.head_dim}, random);
  const Owned d_v_cache = filled(DType::f16, {100, 16, 2, 40}, random);
  std::vector<std::int64_t> slots(1600);
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = static_cast<std::int64_t>(i);
  std::ranges::shuffle(slots, random);
  slots.resize(kBatch * kLong);
  slots[17] = -1;
  for (const auto over : {QkNorm::Over::head, QkNorm::Over::all_heads}) {
    for (const auto order : {QkNorm::Order::before, QkNorm::Order::after}) {
      const NormTensors given =
          tensors_of({QkNorm::Kind::layer, order, over, Weights::bias}, DType::f32, kHeads, rope.head_dim, random);
      const auto run = [&](const Parallel& parallel) {
        std::array written{owned(DType::bf16, {kBatch, kHeads, kLong, rope.head_dim}),
                           owned(DType::f32, {kBatch, 2, kLong, 40}), owned(DType::f32, {kHeads, rope.head_dim}),
                           owned(DType::f64, {kHeads, rope.head_dim})};
        EXPECT_TRUE(rotate_into_cache_backward({.d_k_cache = d_k_cache.view,
                                                .d_v_cache = d_v_cache.view,
                                                .k = k.view,
                                                .positions = PositionRange{3},
                                                .table = &table,
                                                .norm = given.norm,
                                                .slots = slots,
                                                .d_k = written[0].view,
                                                .d_v = written[1].view,
                                                .d_norm_weight = written[2].view,
                                                .d_norm_bias = written[3].view,
                                                .parallel = parallel}));
        std::vector<std::vector<std::byte>> bytes;
        bytes.reserve(written.size());
        for (const Owned& one : written) bytes.push_back(one.memory);
        // Values come as they are.
        for (std::int64_t row = 0; row < kBatch * kLong; ++row) {
          const std::int64_t slot = slots[static_cast<std::size_t>(row)];
          for (std::int64_t h = 0; h < 2; ++h) {
            const std::int64_t to = ((row / kLong * 2 + h) * kLong + row % kLong) * 40;
            const double wanted = slot < 0 ? 0.0 : reference::read(d_v_cache.view, (slot * 2 + h) * 40 + 39);
            EXPECT_EQ(reference::read(written[1].view, to + 39), wanted) << row;
          }
        }
        return bytes;
      };
      const auto alone = run({.threads = 1});
      for (const std::int64_t threads : {2, 3, 0}) EXPECT_TRUE(run({.threads = threads}) == alone) << threads;
    }
  }
}

// Without a norm the bits are those of rotate's transpose; a norm over more channels than the scratch holds is served.
TEST(CacheBackward, WithoutANormTheBitsAreThoseOfRotate) {
  std::mt19937_64 random(24);
  for (const Isa isa : every_isa("cache backward without a norm")) {
    for (const DType dtype : kDTypes) {
      const Rope rope = middle(Pairing::interleaved, 34);
      const RotaryTable table = table_on_demand(rope);
      const Owned d = filled(dtype, {4, 3, rope.head_dim}, random);
      const Owned rotated = owned(dtype, {4, 3, rope.head_dim});
      const Owned d_k = owned(dtype, {4, 3, rope.head_dim});
      (void)rotate({.k = rotated.view,
                    .k_from = d.view,
                    .positions = PositionRange{9},
                    .table = &table,
                    .direction = Direction::transpose,
                    .isa = isa});
      EXPECT_TRUE(rotate_into_cache_backward({.d_k_cache = d.view,
                                              .k = rotated.view,
                                              .positions = PositionRange{9},
                                              .table = &table,
                                              .slots = std::vector<std::int64_t>{0, 1, 2, 3},
                                              .d_k = d_k.view,
                                              .isa = isa}));
      EXPECT_EQ(d_k.memory, rotated.memory) << posenc::name(isa) << " " << posenc::name(dtype);
    }
  }
  const NormTensors wide = tensors_of(
      {QkNorm::Kind::rms, QkNorm::Order::before, QkNorm::Over::all_heads, Weights::heads}, DType::f32, 3, 3000, random);
  const Owned k = filled(DType::f32, {1, 3, 3000}, random);
  const Owned d = filled(DType::f32, {1, 3, 3000}, random);
  const Owned d_weight = owned(DType::f64, {3, 3000});
  EXPECT_TRUE(rotate_into_cache_backward({.d_k_cache = d.view,
                                          .k = k.view,
                                          .norm = wide.norm,
                                          .slots = std::vector<std::int64_t>{0},
                                          .d_norm_weight = d_weight.view}));
  double squares = 0.0;
  for (const double x : numbers_of(k.view)) squares += x * x;
  const double root = std::sqrt(squares / 9000 + wide.norm.epsilon);
  const double last = reference::read(k.view, 8999) * reference::read(d.view, 8999) / root;
  EXPECT_NEAR(reference::read(d_weight.view, 8999), last, std::abs(last) * 200 * kFloatRounding);
}

TEST(CacheBackward, RefusesWhatDoesNotFit) {
  std::vector<float> d(24, 1.0F), k = d, d_k(d.size()), d_v(d.size()), weight(4, 0.5F), d_weight(4);
  const std::vector<std::int64_t> slots{1, 0};
  const KeyNorm norm{.weight = tensor(std::as_const(weight).data(), {4})};
  const CacheBackwardArgs good{.d_k_cache = tensor(d.data(), {2, 3, 4}),
                               .k = tensor(k.data(), {2, 3, 4}),
                               .norm = norm,
                               .slots = slots,
                               .d_k = tensor(d_k.data(), {2, 3, 4}),
                               .d_norm_weight = tensor(d_weight.data(), {4})};
  EXPECT_TRUE(rotate_into_cache_backward(good));
  const auto with = [&](const std::function<void(CacheBackwardArgs&)>& change) {
    CacheBackwardArgs args = good;
    change(args);
    (void)rotate_into_cache_backward(args);
  };
  EXPECT_ERROR(with([](auto& a) { a.k = {}; }), "[rotate_into_cache_backward] k must be given but is omitted");
  EXPECT_ERROR(with([](auto& a) { a.d_k_cache = {}; }),
               "[rotate_into_cache_backward] d_k_cache must be given but is omitted");
  EXPECT_ERROR(with([&](auto& a) {
                 a.d_v = tensor(d_v.data(), {2, 3, 4});
               }),
               "[rotate_into_cache_backward] d_v_cache must be given where d_v is but is omitted");
  EXPECT_ERROR(with([&](auto& a) {
                 a.d_v_cache = tensor(d.data(), {2, 3, 4});
               }),
               "[rotate_into_cache_backward] d_v must be given where d_v_cache is but is omitted");
  EXPECT_ERROR(with([&](auto& a) {
                 a.d_k_cache = tensor(d.data(), {2, 4, 3});
               }),
               "[rotate_into_cache_backward] d_k_cache.shape[1] must be the heads of k, 3, but is 4");
  EXPECT_ERROR(with([&](auto& a) {
                 a.d_k = tensor(d_k.data(), {2, 3, 3});
               }),
               "[rotate_into_cache_backward] d_k must have shape [2, 3, 4] but is [2, 3, 3]");
  EXPECT_ERROR(with([&](auto& a) {
                 a.d_k = tensor(d.data(), {2, 3, 4});
               }),
               "[rotate_into_cache_backward] d_k must not share memory with d_k_cache but is memory of both");
  EXPECT_ERROR(
      with([&](auto& a) { a.d_norm_weight = tensor(weight.data(), {4}); }),
      "[rotate_into_cache_backward] d_norm_weight must not share memory with norm.weight but is memory of both");
  EXPECT_ERROR(with([&](auto& a) {
                 a.d_norm_weight = tensor(d_weight.data(), {2, 2});
               }),
               "[rotate_into_cache_backward] d_norm_weight must have shape [4] but is [2, 2]");
  EXPECT_ERROR(with([&](auto& a) { a.d_norm_bias = tensor(d_weight.data(), {4}); }),
               "[rotate_into_cache_backward] d_norm_bias must be omitted, since the call has no such tensor but is "
               "given");
  EXPECT_ERROR(with([](auto& a) { a.norm = {}; }),
               "[rotate_into_cache_backward] d_norm_weight must be omitted, since the call has no such tensor but is "
               "given");
  EXPECT_ERROR(with([&](auto& a) {
                 a.d_norm_weight.strides[0] = 2;
                 a.d_norm_weight.shape[0] = 4;
                 a.d_norm_weight.data = d_v.data();
               }),
               "[rotate_into_cache_backward] d_norm_weight.strides must leave elements adjacent but is otherwise");
}

// Where no token is stored a norm's gradient is 0; cancelled, the call says so.
TEST(CacheBackward, NothingStoredAndCancelled) {
  std::vector<float> d(12, 1.0F), k = d, weight(4, 0.5F), d_weight(4, 7.0F), d_k(d.size(), 7.0F);
  CacheBackwardArgs args{.d_k_cache = tensor(d.data(), {1, 3, 4}),
                         .k = tensor(k.data(), {1, 3, 4}),
                         .norm = KeyNorm{.weight = tensor(std::as_const(weight).data(), {4})},
                         .d_k = tensor(d_k.data(), {1, 3, 4}),
                         .d_norm_weight = tensor(d_weight.data(), {4})};
  const std::vector<std::int64_t> none{-1};
  args.slots = none;
  EXPECT_TRUE(rotate_into_cache_backward(args));
  EXPECT_EQ(d_weight, std::vector<float>(4, 0.0F));
  EXPECT_EQ(d_k, std::vector<float>(d.size(), 0.0F));
  constexpr std::int64_t kLong = 5000, kWide = 1000;  // 20 MB, more than goes by without being asked
  std::vector<float> many(kLong * kWide, 1.0F), keys(many.size()), to(many.size());
  std::vector<std::int64_t> slots(kLong);
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = static_cast<std::int64_t>(i);
  EXPECT_FALSE(rotate_into_cache_backward({.d_k_cache = tensor(many.data(), {kLong, 1, kWide}),
                                           .k = tensor(keys.data(), {kLong, 1, kWide}),
                                           .slots = slots,
                                           .d_k = tensor(to.data(), {kLong, 1, kWide}),
                                           .parallel = {.threads = 1},
                                           .keep_going = [] { return false; }}));
}

}  // namespace
}  // namespace posenc::test::cache_backward_test
