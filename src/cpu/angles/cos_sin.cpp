// cos_sin() and cos_sin_into() of posenc/rotary_table.h: cos and sin of arbitrary positions, integers or reals, without
// a table. kBlockRows positions at a time are made doubles and given to the rule (angle_rows.h), on the calling thread.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "cpu/angles/angle_rows.h"
#include "cpu/angles/check_table.h"
#include "cpu/machine/dispatch.h"
#include "posenc/error.h"
#include "posenc/rotary_table.h"

namespace posenc::inline v0_2 {
namespace {

// The largest magnitude among `positions`. Throws Error for one beyond 2^53, or NaN.
template <typename Position>
double largest_position(std::string_view where, std::span<const Position> positions) {
  double largest = 0.0;
  for (const Position position : positions) {
    if constexpr (sizeof(Position) == 8) {  // int32 is always within
      constexpr auto kLimit = static_cast<Position>(cpu::kLargest);
      if (!(position >= -kLimit && position <= kLimit)) {
        throw Error(where, {"positions", "lie within -2^53 .. 2^53", formatted("{}", position)});
      }
    }
    largest = std::max(largest, std::abs(static_cast<double>(position)));
  }
  return largest;
}

// What is known once every argument has been checked.
struct Request {
  std::int64_t rows = 0;
  std::int64_t axes = 1;
  const kernels::KernelTable& kernels;
  cpu::AngleRule rule;
};

// Everything that can be wrong but the sizes of the output.
template <typename Position>
Request checked(std::string_view where, const Rope& rope, std::span<const Position> positions,
                const TableOptions& options) {
  const auto arithmetic = options.angles == Angles::exact ? Arithmetic::exact : Arithmetic::float32;
  const Frequencies found = frequencies(rope, options.length, arithmetic);
  const std::int64_t axes = std::ssize(rope.axes.names);
  if (std::ssize(positions) % axes != 0) {
    throw Error(where,
                {"positions.size()", formatted("be a multiple of {} axes", axes), formatted("{}", positions.size())});
  }
  cpu::check_frequencies(where, found, rope.pairs());
  cpu::check_angles(where, largest_position(where, positions), found);
  return {std::ssize(positions) / axes,
          axes,
          cpu::kernels_for(where, options.isa),
          {found.inv_freq, rope.axes.of_pair, found.attention_factor, options.angles}};
}

// Block by block: positions as doubles, [axes, kBlockRows], then one call of the rule.
template <typename Position>
void write(const Request& request, std::span<const Position> positions, std::int64_t pairs, float* cos, float* sin) {
  std::vector<double> block(static_cast<std::size_t>(request.axes * cpu::kBlockRows));
  for (std::int64_t first = 0; first < request.rows; first += cpu::kBlockRows) {
    const std::int64_t count = std::min(cpu::kBlockRows, request.rows - first);
    for (std::int64_t axis = 0; axis < request.axes; ++axis) {
      const auto from =
          positions.subspan(static_cast<std::size_t>(axis * request.rows + first), static_cast<std::size_t>(count));
      std::ranges::transform(from, block.begin() + axis * cpu::kBlockRows,
                             [](Position position) { return static_cast<double>(position); });
    }
    request.rule.write(request.kernels, block.data(), cpu::kBlockRows, count, cos + first * pairs, sin + first * pairs,
                       pairs);
  }
}

template <typename Position>
CosSin make(const Rope& rope, std::span<const Position> positions, const TableOptions& options) {
  constexpr const char* kWhere = "cos_sin";
  const Request request = checked(kWhere, rope, positions, options);
  cpu::check_bytes(kWhere, "positions", request.rows, rope.pairs(), options.max_bytes);
  const auto values = static_cast<std::size_t>(request.rows * rope.pairs());
  CosSin out{rope.pairs(), std::vector<float>(values), std::vector<float>(values)};
  write(request, positions, rope.pairs(), out.cos.data(), out.sin.data());
  return out;
}

template <typename Position>
void make_into(const Rope& rope, std::span<const Position> positions, std::span<float> cos, std::span<float> sin,
               const TableOptions& options) {
  constexpr const char* kWhere = "cos_sin_into";
  const Request request = checked(kWhere, rope, positions, options);
  const auto values = static_cast<std::size_t>(request.rows * rope.pairs());
  for (const auto& [name, given] : {std::pair{"cos.size()", cos.size()}, std::pair{"sin.size()", sin.size()}}) {
    if (given == values) continue;
    throw Error(kWhere, {name, formatted("be {} ({} rows of {} pairs)", values, request.rows, rope.pairs()),
                         formatted("{}", given)});
  }
  write(request, positions, rope.pairs(), cos.data(), sin.data());
}

}  // namespace

CosSin cos_sin(const Rope& rope, std::span<const std::int64_t> positions, const TableOptions& options) {
  return make(rope, positions, options);
}

CosSin cos_sin(const Rope& rope, std::span<const std::int32_t> positions, const TableOptions& options) {
  return make(rope, positions, options);
}

CosSin cos_sin(const Rope& rope, std::span<const double> positions, const TableOptions& options) {
  return make(rope, positions, options);
}

void cos_sin_into(const Rope& rope, std::span<const std::int64_t> positions, std::span<float> cos, std::span<float> sin,
                  const TableOptions& options) {
  make_into(rope, positions, cos, sin, options);
}

void cos_sin_into(const Rope& rope, std::span<const std::int32_t> positions, std::span<float> cos, std::span<float> sin,
                  const TableOptions& options) {
  make_into(rope, positions, cos, sin, options);
}

void cos_sin_into(const Rope& rope, std::span<const double> positions, std::span<float> cos, std::span<float> sin,
                  const TableOptions& options) {
  make_into(rope, positions, cos, sin, options);
}

}  // namespace posenc::inline v0_2
