#include "fuzz/calls/rotations.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <variant>

#include "posenc/error.h"
#include "posenc/reference.h"
#include "rotate/schemes.h"
#include "support/tolerances.h"

namespace posenc::fuzz {
namespace {

constexpr std::array<std::int64_t, 4> kPairs{6, 12, 18, 6};
constexpr std::array<std::int64_t, 4> kFewPairs{1, 2, 5, 8};
constexpr std::array<double, 4> kBases{10000.0, 100.0, 500000.0, 2.0};

Scaling scaling_of(Arguments& arguments, std::int64_t pairs) {
  const auto count = static_cast<std::size_t>(pairs);
  const auto factor = static_cast<double>(arguments.whole(1, 64)) / 4;
  switch (arguments.byte() % 10) {
    case 1: return LinearScaling{factor};
    case 2: return NtkScaling{factor};
    case 3: return DynamicScaling{factor, arguments.whole(1, 99)};
    case 4: return QwenNtkScaling{arguments.whole(1, 99)};
    case 5: return YarnScaling{.factor = factor, .original_max_position_embeddings = arguments.whole(1, 200)};
    case 6:
      return LongRopeScaling{.short_factor = std::vector<double>(count, 1.5),
                             .long_factor = std::vector<double>(count, factor),
                             .original_max_position_embeddings = 32,
                             .factor = factor};
    case 7: return Llama3Scaling{.factor = factor, .original_max_position_embeddings = arguments.whole(1, 200)};
    case 8: return ProportionalScaling{.partial_rotary_factor = 0.5, .factor = factor};
    case 9: return FactorListScaling{std::vector<double>(count, factor)};
    default: return {};
  }
}

// How far cos and sin of a table may be from those of the reference, of a token at these coordinates (docs/angles.md);
// nothing where nothing is promised.
std::optional<double> angle_error(const Rotation& rotation, double a, std::span<const double> coordinates) {
  const auto exact = [](double x) { return x == std::floor(x) ? std::abs(x) <= 0x1p31 : std::abs(x) <= 0x1p20; };
  const bool is_near = std::ranges::all_of(coordinates, exact);
  switch (rotation.options.angles) {
    case Angles::exact: return is_near ? test::table_error(a) : test::kAngleAbsolute * a;
    case Angles::float32:
      if (!is_near) return {};
      return test::table_error(a, test::kFloat32ModelUlp);
    // Two floats beside each other are rounded to two numbers of 8 bits beside each other, at most.
    case Angles::bfloat16:
      if (!is_near) return {};
      return 0x1p-7 * a;
  }
  return {};
}

}  // namespace

Rope rope_of(Arguments& arguments) {
  const auto pairing = arguments.byte() % 2 == 0 ? Pairing::half : Pairing::interleaved;
  const std::uint8_t shape = arguments.byte();
  Rope rope{.pairing = pairing};
  if (shape % 8 == 7) {
    const std::int64_t dim = 2 * arguments.choice(kFewPairs);
    rope.head_dim = rope.dim = dim;
  } else {
    rope = test::schemes(pairing, arguments.choice(kPairs))[shape % 8].rope;
  }
  rope.base = arguments.choice(kBases);
  const Rope plain = rope;
  rope.scaling = scaling_of(arguments, rope.pairs());
  return check(rope) ? plain : rope;
}

Rotation rotation_of(Arguments& arguments, const Rope& rope) {
  TableOptions options{.start = 0, .count = 96};
  const std::uint8_t kind = arguments.byte();
  if (kind % 8 == 6) options.start = arguments.odd_whole();
  if (kind % 8 == 7) options.count = arguments.whole(0, 12);
  if (arguments.chance(64)) options.angles = arguments.byte() % 2 == 0 ? Angles::float32 : Angles::bfloat16;
  if (arguments.chance(32)) options.length = arguments.whole(1, 200);
  try {
    if (kind % 4 == 3) return {rope, options, table_on_demand(rope, options)};
    return {rope, options, make_table(rope, options)};
  } catch (const Error&) {  // no frequencies at that length, or positions that no table has
    Rope plain = rope;
    plain.scaling = {};
    options = {.count = 96};
    return {plain, options, make_table(plain, options)};
  }
}

PositionList::PositionList(Arguments& arguments, std::int64_t count, std::int64_t low) {
  type_ = arguments.byte() % 4;
  const std::uint8_t step = arguments.byte();
  const std::int64_t size = arguments.chance(8) ? arguments.whole(0, 20) : count;
  const std::uint8_t odd = arguments.byte();  // from 192 on: one of them, drawn
  start_ = odd < 192 ? low + step % 16 : arguments.odd_whole();
  for (std::int64_t n = 0; n < size; ++n) {
    std::int64_t position = low + (n * step + step / 16) % 90;
    double real = static_cast<double>(position);
    if (odd >= 192 && n == odd % std::max<std::int64_t>(size, 1)) {
      position = arguments.odd_whole();
      real = arguments.odd_real();
    } else if (odd >= 128 && odd < 160) {
      real += 0.25;
    }
    if (type_ == 1) wide_.push_back(position);
    if (type_ == 2) narrow_.push_back(static_cast<std::int32_t>(position));
    if (type_ == 3) real_.push_back(real);
  }
}

Positions PositionList::view() const {
  if (type_ == 1) return std::span<const std::int64_t>(wide_);
  if (type_ == 2) return std::span<const std::int32_t>(narrow_);
  if (type_ == 3) return std::span<const double>(real_);
  return PositionRange{start_};
}

std::vector<double> coordinates_of(const Positions& positions, std::int64_t axes, const TokenPlace& at) {
  return std::visit(
      [&](const auto& given) -> std::vector<double> {
        if constexpr (std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          return std::vector<double>(static_cast<std::size_t>(axes), static_cast<double>(given.start + at.counted));
        } else {
          const bool of_all = std::ssize(given) == axes * at.rows;
          std::vector<double> out;
          for (std::int64_t axis = 0; axis < axes; ++axis) {
            const std::int64_t n = of_all ? axis * at.rows + at.row : axis * at.tokens + at.token;
            out.push_back(static_cast<double>(given[static_cast<std::size_t>(n)]));
          }
          return out;
        }
      },
      positions);
}

std::optional<RotatedRow> rotated_row(const Rotation& rotation, std::span<const double> x,
                                      std::span<const double> coordinates, Direction direction) {
  const double a = rotation.table.attention_factor();
  const std::optional<double> error = angle_error(rotation, a, coordinates);
  if (!error) return {};
  RotatedRow out{.values = std::vector<double>(x.size()), .size = a, .error = *error};
  if (direction == Direction::inverse) {
    out.size = 1 / a;
    // As inverse_table_error, whatever the error of the table.
    out.error = a == 1.0 ? *error : *error / (a * a) + 2 * test::kFloatRounding / a;
  }
  const std::int64_t head_dim = rotation.rope.head_dim;
  const std::int64_t heads = std::ssize(x) / head_dim;
  (void)reference::rotate(rotation.rope, {.out = tensor(out.values.data(), {1, heads, head_dim}),
                                          .x = tensor(x.data(), {1, heads, head_dim}),
                                          .positions = coordinates,
                                          .direction = direction,
                                          .length = rotation.options.length,
                                          .angles = rotation.options.angles});
  return out;
}

std::optional<RotatedRow> rerotated_row(const Rotation& from, std::span<const double> from_coordinates,
                                        const Rotation& to, std::span<const double> to_coordinates,
                                        std::span<const double> x) {
  const double a_from = from.table.attention_factor();
  const double a_to = to.table.attention_factor();
  const std::optional<double> from_error = angle_error(from, a_from, from_coordinates);
  const std::optional<double> to_error = angle_error(to, a_to, to_coordinates);
  const auto straight = rotated_row(from, x, from_coordinates, Direction::inverse);
  if (!straight || !to_error) return {};
  auto out = rotated_row(to, straight->values, to_coordinates, Direction::forward);
  if (!out) return {};
  // As combined_error, whatever the errors of both tables.
  out->size = a_to / a_from;
  out->error = std::sqrt(2.0) * (a_to * *from_error + a_from * *to_error) / (a_from * a_from) +
               0.5 * test::float_ulp(a_to / a_from);
  return out;
}

}  // namespace posenc::fuzz
