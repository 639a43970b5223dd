// The rotation of tensors, in double. Angles are made here, per token and pair, by a way of their own.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <type_traits>
#include <variant>
#include <vector>

#include "math/rotation.h"
#include "posenc/error.h"
#include "posenc/reference.h"
#include "reference/elements.h"

namespace posenc::reference {
namespace {

constexpr const char* kWhere = "reference::rotate";

// x f modulo 2 pi, within 1e-15, for |x f| <= 2^53. The product is h + l exactly; 2 pi is the sum of two doubles (A
// third, 2^-106 of it, times 2^50 turns, is nothing). h - k * kTwoPi is exact: its last bit is at 2^-50, it is below 8.
double reduced_angle(double x, double f) {
  constexpr double kTwoPi = 2 * std::numbers::pi;
  constexpr double kTwoPiRest = 2.4492935982947064e-16;  // 2 pi - kTwoPi
  const double h = x * f;
  const double l = std::fma(x, f, -h);
  const double k = std::nearbyint(h / kTwoPi);
  const double rest = k * kTwoPiRest;
  return std::fma(-k, kTwoPi, h) + (l - rest);
}

float rounded_to_bfloat16(float x) {
  int exponent = 0;
  const float mantissa = std::frexp(x, &exponent);  // 8 bits of it: mantissa * 2^8 is whole
  return std::ldexp(std::nearbyint(mantissa * 256.0F), exponent - 8);
}

struct CosineSine {
  double cos;
  double sin;
};

CosineSine cosine_sine(double position, double inv_freq, double factor, Angles angles) {
  if (angles == Angles::exact) {
    const double angle = reduced_angle(position, inv_freq);
    return {factor * std::cos(angle), factor * std::sin(angle)};
  }
  const float angle = static_cast<float>(position) * static_cast<float>(inv_freq);
  const double reduced = reduced_angle(angle, 1.0);
  float c = static_cast<float>(std::cos(reduced)) * static_cast<float>(factor);
  float s = static_cast<float>(std::sin(reduced)) * static_cast<float>(factor);
  if (angles == Angles::bfloat16) {
    c = rounded_to_bfloat16(c);
    s = rounded_to_bfloat16(s);
  }
  return {c, s};
}

void require(bool holds, const char* field, std::string must, std::string is) {
  if (!holds) throw Error(kWhere, {field, std::move(must), std::move(is)});
}

void check_positions(const RotateArgs& args, const Sizes& sizes, std::int64_t axes) {
  std::visit(
      [&](const auto& given) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          const std::int64_t all = axes * sizes.batch * sizes.tokens;
          const bool fits = std::ssize(given) == axes * sizes.tokens || std::ssize(given) == all;
          require(fits, "positions", fmt::format("have {} entries", all), fmt::to_string(given.size()));
        }
      },
      args.positions);
}

void check(const Rope& rope, const RotateArgs& args) {
  const auto rank_of = [](const ConstTensorView& view) { return fmt::to_string(view.rank); };
  require(args.x.rank == 3 || args.x.rank == 4, "x.rank", "be 3 or 4", rank_of(args.x));
  require(args.out.rank == args.x.rank && args.out.shape == args.x.shape, "out.shape", "be that of x", "another");
  require(args.out.dtype == DType::f64, "out.dtype", "be f64", std::string(name(args.out.dtype)));
  const auto last = static_cast<std::size_t>(args.x.rank - 1);
  require(args.x.shape[last] == rope.head_dim, "x.shape", fmt::format("end with head_dim, {},", rope.head_dim),
          fmt::to_string(args.x.shape[last]));
  const Sizes sizes = sizes_of(args.x);
  const bool has_elements = sizes.batch * sizes.tokens * sizes.heads > 0;
  require(!has_elements || args.x.data != nullptr, "x.data", "point to the elements", "null");
  require(!has_elements || args.out.data != nullptr, "out.data", "point to the elements", "null");
  require(args.direction <= Direction::transpose, "direction", "be forward, inverse or transpose",
          fmt::to_string(static_cast<int>(args.direction)));
  check_positions(args, sizes, std::ssize(rope.axes.names));
  if (args.cu_seqlens.empty()) return;
  require(args.x.rank == 3, "cu_seqlens", "be left out for tensors of rank 4", "given");
  require(args.cu_seqlens.front() == 0 && args.cu_seqlens.back() == args.x.shape[0], "cu_seqlens",
          "lead from 0 to the number of tokens", "otherwise");
}

// Where token t of its sequence's first token stands, for positions that are counted.
std::int64_t place_in_sequence(std::span<const std::int32_t> cu_seqlens, std::int64_t t) {
  std::int64_t first = 0;
  for (const std::int32_t bound : cu_seqlens) {
    if (bound <= t) first = bound;
  }
  return t - first;
}

// The position of token t of sequence b of the batch, on one axis.
double position_of(const RotateArgs& args, const Sizes& sizes, std::int64_t axes, std::int64_t axis, std::int64_t b,
                   std::int64_t t) {
  return std::visit(
      [&](const auto& given) -> double {
        if constexpr (std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          return static_cast<double>(given.start + place_in_sequence(args.cu_seqlens, t));
        } else {
          const bool shared = std::ssize(given) == axes * sizes.tokens;
          const std::int64_t rows = shared ? sizes.tokens : sizes.batch * sizes.tokens;
          return static_cast<double>(
              given[static_cast<std::size_t>(axis * rows + (shared ? 0 : b * sizes.tokens) + t)]);
        }
      },
      args.positions);
}

}  // namespace

void rotate(const Rope& rope, const RotateArgs& args) {
  const auto arithmetic = args.angles == Angles::exact ? Arithmetic::exact : Arithmetic::float32;
  const auto [inv_freq, factor] = frequencies(rope, args.length, arithmetic);
  check(rope, args);
  const Sizes sizes = sizes_of(args.x);
  const std::int64_t axes = std::ssize(rope.axes.names);
  auto* const out = static_cast<double*>(args.out.data);
  const std::size_t last = static_cast<std::size_t>(args.x.rank - 1);
  for (std::int64_t b = 0; b < sizes.batch; ++b) {
    for (std::int64_t t = 0; t < sizes.tokens; ++t) {
      for (std::int64_t h = 0; h < sizes.heads; ++h) {
        const std::int64_t from = offset_of(args.x, b, t, h);
        const std::int64_t to = offset_of(args.out, b, t, h);
        for (std::int64_t c = 0; c < rope.head_dim; ++c) {
          out[to + c * args.out.strides[last]] = read(args.x, from + c * args.x.strides[last]);
        }
        for (std::int64_t p = 0; p < rope.pairs(); ++p) {
          const std::int64_t axis = rope.axes.of_pair.empty() ? 0 : rope.axes.of_pair[static_cast<std::size_t>(p)];
          const double position = position_of(args, sizes, axes, axis, b, t);
          CosineSine angle = cosine_sine(position, inv_freq[static_cast<std::size_t>(p)], factor, args.angles);
          if (args.direction != Direction::forward) angle.sin = -angle.sin;
          if (args.direction == Direction::inverse)
            angle = {angle.cos / (factor * factor), angle.sin / (factor * factor)};
          const auto [a, other] = math::channels_of_pair(rope.pairing, rope.first_channel, rope.dim, p);
          double& x = out[to + a * args.out.strides[last]];
          double& y = out[to + other * args.out.strides[last]];
          const auto turned = math::rotated<double>({x, y}, angle.cos, angle.sin);
          x = turned.a;
          y = turned.b;
        }
      }
    }
  }
}

}  // namespace posenc::reference
