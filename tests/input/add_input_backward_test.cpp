// add_input_backward against exact differences of reference::add_input, which is linear in each of its numbers: tables,
// token types, a learned scale, x, added and multiplied, in every dtype; on any threads; and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attend/fused/in_dtype.h"
#include "posenc/add_input.h"
#include "posenc/reference.h"
#include "support/error_ratio.h"
#include "support/every_isa.h"
#include "support/random_tensor.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::add_input_backward_test {
namespace {

constexpr std::uint64_t kSeed = 173205;

struct BackwardCase {
  std::string name;
  InputScheme scheme;
  std::int64_t batch = 0;  // 0: rank 2
  std::int64_t tokens = 9;
  std::int64_t channels = 5;
  bool types = false;
  bool lists = false;  // positions are listed, for each member
  std::vector<std::int32_t> ends{};
};

std::vector<BackwardCase> cases() {
  constexpr auto kTimes = InputCombine::multiply;
  const LearnedInput plain{.positions = 14, .offset = 2};
  const LearnedInput bert{.positions = 14, .token_types = 3, .embedding_multiplier = 1.5};
  LearnedInput times = bert;
  times.combine = kTimes;
  const SinusoidalInput scaled{.embedding_multiplier = 2.0, .learned_scale = true};
  SinusoidalInput scaled_times = scaled;
  scaled_times.combine = kTimes;
  return {{.name = "table", .scheme = plain},
          {.name = "table, batch", .scheme = plain, .batch = 3},
          {.name = "table, packed", .scheme = plain, .ends = {0, 4, 4, 9}},
          {.name = "table and types, lists", .scheme = bert, .batch = 2, .types = true, .lists = true},
          {.name = "table and types, many channels", .scheme = bert, .tokens = 4, .channels = 258, .types = true},
          {.name = "table and types, multiplied", .scheme = times, .batch = 2, .types = true, .lists = true},
          {.name = "table and types, many tokens", .scheme = bert, .batch = 12, .tokens = 11, .types = true},
          {.name = "scale", .scheme = scaled, .batch = 2, .channels = 6},
          {.name = "scale, multiplied", .scheme = scaled_times, .channels = 6},
          {.name = "sines", .scheme = SinusoidalInput{.embedding_multiplier = 3.0}, .channels = 6},
          {.name = "no tokens", .scheme = plain, .tokens = 0}};
}

bool multiplies(const InputScheme& scheme) {
  return std::visit(
      [](const auto& of) {
        if constexpr (requires { of.embedding_multiplier; }) return of.combine == InputCombine::multiply;
        return false;
      },
      scheme);
}
double multiplier(const InputScheme& scheme) {
  return std::visit(
      [](const auto& of) {
        if constexpr (requires { of.embedding_multiplier; }) return of.embedding_multiplier;
        return 1.0;
      },
      scheme);
}

TensorView of(std::vector<std::byte>& bytes, DType dtype, const std::vector<std::int64_t>& shape) {
  return tensor(bytes.data(), dtype, shape);
}

using Results = std::array<std::vector<double>, 4>;  // x, positions, token types, scale
constexpr std::array kResults{"d_x", "d_positions", "d_token_types", "d_scale"};

struct Call {
  const BackwardCase& which;
  DType dtype;
  Tensor x, d_out, table, types;
  std::vector<double> scale{0.75};
  std::vector<std::int64_t> positions, token_types;

  Call(const BackwardCase& of_case, DType of_dtype, std::uint64_t seed) : which(of_case), dtype(of_dtype) {
    Random random(seed);
    const auto rows = [&] {
      if (which.batch > 0) return random_tensor(random, {which.batch, which.tokens, which.channels});
      return random_tensor(random, {which.tokens, which.channels});
    };
    x = rows();
    d_out = rows();
    table = random_tensor(random, {14, which.channels});
    types = random_tensor(random, {3, which.channels});
    for (Tensor* const one : {&x, &d_out, &table, &types}) (void)in_dtype(one->values, dtype);
    const std::int64_t all = std::max<std::int64_t>(which.batch, 1) * which.tokens;
    for (std::int64_t t = 0; t < all; ++t) {
      positions.push_back(random.whole(0, 11));
      token_types.push_back(random.whole(0, 1));  // no token of the third
    }
  }
  bool learned() const { return std::holds_alternative<LearnedInput>(which.scheme); }
  bool scaled() const {
    const auto* const sines = std::get_if<SinusoidalInput>(&which.scheme);
    return sines != nullptr && sines->learned_scale;
  }

  Results by_library(Isa isa, std::int64_t threads = 1, bool in_place = false) {
    std::vector<std::byte> of_x = in_dtype(x.values, dtype);
    std::vector<std::byte> of_d = in_dtype(d_out.values, dtype);
    std::vector<std::byte> of_table = in_dtype(table.values, dtype);
    std::vector<std::byte> of_types = in_dtype(types.values, dtype);
    std::array<std::vector<std::byte>, 3> written{of_x, of_table, of_types};
    for (std::vector<std::byte>& bytes : written) std::ranges::fill(bytes, std::byte{0xFF});
    double d_scale = NAN;
    InputWeights weights;
    AddInputBackwardArgs args{.d_out = of(of_d, dtype, d_out.shape),
                              .x = of(of_x, dtype, x.shape),
                              .cu_seqlens = which.ends,
                              .d_x = of(in_place ? of_d : written[0], dtype, x.shape),
                              .parallel = {.threads = threads},
                              .isa = isa};
    if (which.lists) args.positions = std::span<const std::int64_t>(positions);
    if (learned()) {
      weights = LearnedInputWeights{
          .positions = of(of_table, dtype, table.shape),
          .token_types = which.types ? ConstTensorView(of(of_types, dtype, types.shape)) : ConstTensorView{}};
      args.d_positions = of(written[1], dtype, table.shape);
      if (which.types) {
        args.token_types = token_types;
        args.d_token_types = of(written[2], dtype, types.shape);
      }
    }
    if (scaled()) {
      weights = SinusoidalInputWeights{.scale = scale[0]};
      args.d_scale = tensor(&d_scale, {1});
    }
    EXPECT_TRUE(add_input_backward(which.scheme, weights, args));
    const auto numbers = [&](const std::vector<std::byte>& bytes) {
      const auto count = static_cast<std::int64_t>(bytes.size()) / bytes_of(dtype);
      return cpu::read_all(tensor(static_cast<const void*>(bytes.data()), dtype, {count}));
    };
    Results out{numbers(in_place ? of_d : written[0]), {}, {}, {}};
    if (learned()) out[1] = numbers(written[1]);
    if (learned() && which.types) out[2] = numbers(written[2]);
    if (scaled()) out[3] = {d_scale};
    return out;
  }

  // L = sum d_out out, by the reference, sequence by sequence.
  double loss() {
    const std::int64_t members = std::max<std::int64_t>(which.batch, 1);
    std::vector<std::int32_t> ends = which.ends;
    if (ends.empty()) ends = {0, static_cast<std::int32_t>(which.tokens)};
    double sum = 0.0;
    for (std::int64_t b = 0; b < members; ++b) {
      for (std::size_t s = 0; s + 1 < ends.size(); ++s) {
        const std::int64_t first = b * which.tokens + ends[s];
        const std::int64_t count = ends[s + 1] - ends[s];
        std::vector<double> out(static_cast<std::size_t>(count * which.channels));
        reference::InputArgs args{
            .out = tensor(out.data(), {count, which.channels}),
            .x = tensor(std::as_const(x).values.data() + first * which.channels, {count, which.channels})};
        if (which.lists)
          args.positions = std::span<const std::int64_t>(positions).subspan(std::size_t(first), std::size_t(count));
        if (which.types)
          args.token_types = std::span<const std::int64_t>(token_types).subspan(std::size_t(first), std::size_t(count));
        if (learned()) {
          reference::add_input(
              std::get<LearnedInput>(which.scheme),
              {.positions = table, .token_types = which.types ? ConstTensorView(types) : ConstTensorView{}}, args);
        } else {
          reference::add_input(std::get<SinusoidalInput>(which.scheme),
                               {.scale = scaled() ? std::optional(scale[0]) : std::nullopt}, args);
        }
        for (std::size_t n = 0; n < out.size(); ++n) {
          sum += d_out.values[std::size_t(first * which.channels) + n] * out[n];
        }
      }
    }
    return sum;
  }

  Results by_differences() {
    const auto of_numbers = [&](std::vector<double>& numbers) {
      std::vector<double> out;
      for (double& one : numbers) {
        const double before = one;
        one = before + 1.0;
        const double above = loss();
        one = before - 1.0;
        out.push_back((above - loss()) / 2);
        one = before;
      }
      return out;
    };
    Results out{of_numbers(x.values), {}, {}, {}};
    if (learned()) out[1] = of_numbers(table.values);
    if (learned() && which.types) out[2] = of_numbers(types.values);
    if (scaled()) out[3] = of_numbers(scale);
    return out;
  }
};

// A number of a gradient is a sum, of at most 64 roundings one after another (`tokens`), of terms d times up to m x +
// type, or a row's p, of which each is rounded to f32 thrice at most (m d, p, their product); p is off by an ulp, its
// angle by 2^-52 of itself. `terms`: their sizes at most, together. The differences are of sums in double of sizes
// `whole`.
double bound_of(double value, double terms, double tokens, double whole, DType stored) {
  return rounding_error(stored, value) + (5 + std::min(tokens, 64.0)) * kFloatRounding * terms +
         64 * kDoubleRounding * whole;
}

// The sizes of what a gradient's number is a sum of: of one token's number, a row's in one channel, or all of them.
double terms_of(const Call& call, std::size_t result, std::size_t element) {
  const auto channels = static_cast<std::size_t>(call.which.channels);
  double factor = multiplier(call.which.scheme);
  double terms = 0.0;
  for (std::size_t t = 0; t < call.d_out.values.size(); ++t) {
    if (multiplies(call.which.scheme)) {
      factor = std::max(factor, multiplier(call.which.scheme) * std::abs(call.x.values[t]) + 5.0);
    }
    const bool is_own = result == 0 ? t == element : result == 3 || t % channels == element % channels;
    if (is_own) terms += std::abs(call.d_out.values[t]);
  }
  return terms * factor;
}

TEST(AddInputBackward, IsTheDifferenceOfTheReference) {
  struct OfIsa {
    Isa isa;
    ErrorRatio of_f32;
    ErrorRatio of_16_bits;
  };
  std::vector<OfIsa> isas;
  for (const Isa isa : every_isa("gradients of the input stage")) {
    const std::string suite = "gradients of the input stage, " + std::string(name(isa));
    isas.push_back({isa, ErrorRatio(suite), ErrorRatio(suite + ", in 16 bits")});
  }
  std::uint64_t seed = kSeed;
  for (const BackwardCase& which : cases()) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const std::string where = which.name + ", " + std::string(name(dtype)) + ", seed " + std::to_string(++seed);
      SCOPED_TRACE(where);
      Call call(which, dtype, seed);
      const Results wanted = call.by_differences();
      const auto tokens = static_cast<double>(call.positions.size());
      double whole = 1.0;
      for (std::size_t n = 0; n < call.d_out.values.size(); ++n) {
        whole += 5.0 * std::abs(call.d_out.values[n]) * (multiplier(which.scheme) * std::abs(call.x.values[n]) + 5.0);
      }
      for (OfIsa& own : isas) {
        const Results is = call.by_library(own.isa);
        for (std::size_t n = 0; n < 4; ++n) {
          ASSERT_EQ(is[n].size(), wanted[n].size());
          for (std::size_t e = 0; e < is[n].size(); ++e) {
            const DType stored = n == 3 ? DType::f32 : dtype;
            ErrorRatio& ratio = stored == DType::f32 ? own.of_f32 : own.of_16_bits;
            ratio.add(std::abs(is[n][e] - wanted[n][e]),
                      bound_of(wanted[n][e], terms_of(call, n, e), tokens, whole, stored), where + ": " + kResults[n]);
          }
        }
        EXPECT_EQ(call.by_library(own.isa, 1, true), is) << "in place";
      }
    }
  }
  for (const OfIsa& own : isas) {
    own.of_f32.expect();
    own.of_16_bits.expect();
  }
}

TEST(AddInputBackward, IsTheSameOnAnyThreads) {
  for (BackwardCase which : cases()) {
    if (which.tokens == 0 || !which.ends.empty()) continue;
    SCOPED_TRACE(which.name);
    which.batch = 3;
    which.tokens = 12;
    which.channels = 4100;
    Call call(which, DType::f32, kSeed);
    const Results wanted = call.by_library(Isa::automatic);
    for (const std::int64_t threads : {2, 3, 0}) EXPECT_EQ(call.by_library(Isa::automatic, threads), wanted);
  }
}

TEST(AddInputBackward, RefusesWhatDoesNotFit) {
  std::vector<float> d(4 * 6, 1.0F), x = d, d_x = d, table(5 * 6, 0.5F), d_table = table;
  float d_scale = 0.0F;
  const LearnedInput scheme{.positions = 5};
  const LearnedInputWeights weights{.positions = tensor(table.data(), {5, 6})};
  const AddInputBackwardArgs good{.d_out = tensor(d.data(), {4, 6}),
                                  .d_x = tensor(d_x.data(), {4, 6}),
                                  .d_positions = tensor(d_table.data(), {5, 6})};
  EXPECT_TRUE(add_input_backward(scheme, weights, good));
  EXPECT_EQ(d_table[4 * 6], 0.0F) << "no token took the last row";
  const auto with = [&](const std::function<void(AddInputBackwardArgs&)>& change) {
    AddInputBackwardArgs args = good;
    change(args);
    return args;
  };
  const auto call = [&](const AddInputBackwardArgs& args) { (void)add_input_backward(scheme, weights, args); };
  EXPECT_ERROR((void)add_input_backward(scheme, weights, with([](auto& a) { a.d_out = {}; })),
               "[add_input_backward] d_out must be given but is omitted");
  EXPECT_ERROR(call(with([](auto& a) { a.positions = PositionRange{2}; })),
               "[add_input_backward] positions must find one of the table's 5 rows, position + 0, but is 5");
  EXPECT_ERROR(call(with([&](auto& a) {
                 a.d_x = tensor(d_x.data(), {3, 6});
               })),
               "[add_input_backward] d_out.shape must be that of d_x, [3, 6], but is [4, 6]");
  EXPECT_ERROR(call(with([&](auto& a) {
                 a.d_positions = tensor(d_table.data(), {4, 6});
               })),
               "[add_input_backward] d_positions must have shape [5, 6] but is [4, 6]");
  EXPECT_ERROR(call(with([&](auto& a) {
                 a.d_positions = tensor(table.data(), {5, 6});
               })),
               "[add_input_backward] d_positions must not share memory with weights.positions but is memory of both");
  EXPECT_ERROR(call(with([&](auto& a) { a.d_scale = tensor(&d_scale, {1}); })),
               "[add_input_backward] d_scale must be omitted for an input without a learned scale but is given");
  EXPECT_ERROR(call(with([&](auto& a) {
                 a.d_token_types = tensor(d_x.data(), {4, 6});
               })),
               "[add_input_backward] d_token_types must be omitted, since the call has no such tensor but is given");
  LearnedInput times = scheme;
  times.combine = InputCombine::multiply;
  EXPECT_ERROR((void)add_input_backward(times, weights, good),
               "[add_input_backward] x must be given where rows multiply but is omitted");
  EXPECT_FALSE(add_input_backward(scheme, weights, with([](auto& a) { a.keep_going = [] { return false; }; })));
}

}  // namespace
}  // namespace posenc::test::add_input_backward_test
