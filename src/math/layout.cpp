#include "math/layout.h"

#include <cstddef>
#include <variant>

#include "base/formatted.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2 {

const Rope& rope(const Rotate& rotate) noexcept {
  const XPos* xpos = std::get_if<XPos>(&rotate.scheme);
  return xpos != nullptr ? xpos->rope : *std::get_if<Rope>(&rotate.scheme);
}

}  // namespace posenc::inline v0_2

namespace posenc::math {
namespace {

std::optional<Problem> check_channels(const RotaryLayout& layout) {
  const auto& [pairing, head_dim, first_channel, dim, axes] = layout;
  if (pairing.get() != Pairing::half && pairing.get() != Pairing::interleaved) {
    return Problem{"pairing", "be half or interleaved", formatted("{}", static_cast<int>(pairing.get()))};
  }
  if (head_dim < 1 || head_dim > kMaxHeadDim) {
    return Problem{"head_dim", formatted("lie from 1 to {}", kMaxHeadDim), formatted("{}", head_dim)};
  }
  if (dim < 2 || dim % 2 != 0) {
    return Problem{"dim", "be even and at least 2, since channels turn in pairs,", formatted("{}", dim)};
  }
  if (dim > head_dim) {
    return Problem{"dim", formatted("be at most head_dim, {},", head_dim), formatted("{}", dim)};
  }
  if (first_channel < 0 || first_channel > head_dim - dim) {
    return Problem{"first_channel",
                   formatted("lie from 0 to head_dim - dim = {} - {} = {}", head_dim, dim, head_dim - dim),
                   formatted("{}", first_channel)};
  }
  return {};
}

std::optional<Problem> check_axes(const RotaryLayout& layout) {
  const AxisMap& axes = layout.axes;
  if (axes.names.empty()) return Problem{"axes.names", "name at least one axis", "empty"};
  if (axes.of_pair.empty()) return {};
  if (axes.of_pair.size() != static_cast<std::size_t>(layout.pairs())) {
    return Problem{"axes.of_pair",
                   formatted("name an axis for each pair, dim / 2 = {} / 2 = {},", layout.dim, layout.pairs()),
                   formatted("{} long", axes.of_pair.size())};
  }
  for (std::size_t p = 0; p < axes.of_pair.size(); ++p) {
    if (axes.of_pair[p] >= 0 && static_cast<std::size_t>(axes.of_pair[p]) < axes.names.size()) continue;
    return Problem{formatted("axes.of_pair[{}]", p),
                   formatted("be one of the {} axes, 0 to {},", axes.names.size(), axes.names.size() - 1),
                   formatted("{}", axes.of_pair[p])};
  }
  return {};
}

}  // namespace

std::optional<Problem> check_layout(const RotaryLayout& layout) {
  if (auto problem = check_channels(layout)) return problem;
  return check_axes(layout);
}

std::optional<Problem> check_shares(const RotaryLayout& layout, bool may_alternate) {
  const auto axes = static_cast<std::int64_t>(layout.axes.names.size());
  if (layout.pairs() % axes != 0) {
    return Problem{"dim", formatted("divide evenly among {} axes: a multiple of {}", axes, 2 * axes),
                   formatted("{}", layout.dim)};
  }
  const std::int64_t block = layout.pairs() / axes;
  const auto axis_of = [&](std::int64_t p) -> std::int64_t {
    return layout.axes.of_pair.empty() ? 0 : layout.axes.of_pair[static_cast<std::size_t>(p)];
  };
  const bool alternates = may_alternate && axes > 1 && block > 1 && axis_of(1) == 1;
  for (std::int64_t p = 0; p < layout.pairs(); ++p) {
    const std::int64_t wanted = alternates ? p % axes : p / block;
    if (axis_of(p) == wanted) continue;
    return Problem{formatted("axes.of_pair[{}]", p),
                   alternates ? formatted("be {}, as axes alternate", wanted)
                              : formatted("be {} for axis_frequencies over blocks of {} pairs", wanted, block),
                   formatted("{}", axis_of(p))};
  }
  return {};
}

}  // namespace posenc::math

namespace posenc::inline v0_2 {

RotaryLayout layout(const Rope& rope) {
  if (auto problem = check(rope)) throw Error("layout", *problem);
  return {rope.pairing, rope.head_dim, rope.first_channel, rope.dim, rope.axes};
}

}  // namespace posenc::inline v0_2
