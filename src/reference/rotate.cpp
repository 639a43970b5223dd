// reference::rotate: RoPE on whole tensors in double, rotate() for each token and head. posenc/reference.h; the
// kernels' side is src/cpu/rotate/rotate.cpp.
#include <type_traits>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/reference.h"
#include "reference/elements.h"
#include "reference/rotate_head.h"

namespace posenc::inline v0_2::reference {
namespace {

constexpr const char* kRotate = "reference::rotate";

void require_call(bool holds, const char* field, std::string must, std::string is) {
  if (!holds) throw Error(kRotate, {field, std::move(must), std::move(is)});
}

// [axes, tokens], the same for every sequence of a batch, or [axes, batch * tokens]; a PositionRange always fits.
void check_positions(const RotateArgs& args, const Sizes& sizes, std::int64_t axes) {
  std::visit(
      [&](const auto& given) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          const std::int64_t all = axes * sizes.batch * sizes.tokens;
          const bool fits = std::ssize(given) == axes * sizes.tokens || std::ssize(given) == all;
          require_call(fits, "positions", formatted("have {} entries", all), formatted("{}", given.size()));
        }
      },
      args.positions);
}

void check(const Rope& rope, const RotateArgs& args) {
  const auto rank_of = [](const ConstTensorView& view) { return formatted("{}", view.rank); };
  require_call(args.x.rank == 3 || args.x.rank == 4, "x.rank", "be 3 or 4", rank_of(args.x));
  require_call(args.out.rank == args.x.rank && args.out.shape == args.x.shape, "out.shape", "be that of x", "another");
  require_call(args.out.dtype == DType::f64, "out.dtype", "be f64", std::string(name(args.out.dtype)));
  const auto last = static_cast<std::size_t>(args.x.rank - 1);
  require_call(args.x.shape[last] == rope.head_dim, "x.shape", formatted("end with head_dim, {},", rope.head_dim),
               formatted("{}", args.x.shape[last]));
  const Sizes sizes = sizes_of(args.x);
  const bool has_elements = sizes.batch * sizes.tokens * sizes.heads > 0;
  require_call(!has_elements || args.x.data != nullptr, "x.data", "point to the elements", "null");
  require_call(!has_elements || args.out.data != nullptr, "out.data", "point to the elements", "null");
  require_call(args.direction <= Direction::transpose, "direction", "be forward, inverse or transpose",
               formatted("{}", static_cast<int>(args.direction)));
  check_positions(args, sizes, std::ssize(rope.axes.names));
  if (args.cu_seqlens.empty()) return;
  require_call(args.x.rank == 3, "cu_seqlens", "be omitted for tensors of rank 4", "given");
  require_call(args.cu_seqlens.front() == 0 && args.cu_seqlens.back() == args.x.shape[0], "cu_seqlens",
               "lead from 0 to the number of tokens", "otherwise");
}

// Where token t of its sequence's first token stands, for positions that are counted.
// Its sequence begins at the last bound that is not above t; without bounds, all tokens are one sequence.
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

// frequencies() checks the rope, and throws, before the tensors are checked against it. float32 angles come with
// frequencies in Hugging Face's float32 steps.
bool rotate(const Rope& rope, const RotateArgs& args) {
  const auto arithmetic = args.angles == Angles::exact ? Arithmetic::exact : Arithmetic::float32;
  const Frequencies of_rope = frequencies(rope, args.length, arithmetic);
  check(rope, args);
  const Sizes sizes = sizes_of(args.x);
  const std::int64_t axes = std::ssize(rope.axes.names);
  auto* const out = static_cast<double*>(args.out.data);
  const std::size_t last = static_cast<std::size_t>(args.x.rank - 1);
  std::vector<double> head(static_cast<std::size_t>(rope.head_dim));
  for (std::int64_t b = 0; b < sizes.batch; ++b) {
    for (std::int64_t t = 0; t < sizes.tokens; ++t) {
      if (args.keep_going && !args.keep_going()) return false;
      const auto coordinate = [&](std::int64_t axis) { return position_of(args, sizes, axes, axis, b, t); };
      for (std::int64_t h = 0; h < sizes.heads; ++h) {
        const std::int64_t from = offset_of(args.x, b, t, h);
        const std::int64_t to = offset_of(args.out, b, t, h);
        for (std::size_t c = 0; c < head.size(); ++c) {
          head[c] = read(args.x, from + static_cast<std::int64_t>(c) * args.x.strides[last]);
        }
        rotate_head(rope, of_rope, coordinate, args.direction, args.angles, head);
        for (std::size_t c = 0; c < head.size(); ++c) {
          out[to + static_cast<std::int64_t>(c) * args.out.strides[last]] = head[c];
        }
      }
    }
  }
  return true;
}

}  // namespace posenc::inline v0_2::reference
