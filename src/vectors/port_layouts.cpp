#include "vectors/port_layouts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/formatted.h"
#include "reference/elements.h"
#include "vectors/tensor_views.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFarBelow = 1000.0;  // scores so far below all others are masked, whatever number stands for it

// The view with axes of size 1 taken away from its front, down to `rank` axes.
ConstTensorView without_batch(ConstTensorView view, int rank) {
  while (view.rank > rank && view.shape[0] == 1) {
    for (std::size_t axis = 1; axis < kMaxRank; ++axis) {
      view.shape[axis - 1] = view.shape[axis];
      view.strides[axis - 1] = view.strides[axis];
    }
    --view.rank;
    view.shape[static_cast<std::size_t>(view.rank)] = view.strides[static_cast<std::size_t>(view.rank)] = 0;
  }
  return view;
}

bool has_shape(const ConstTensorView& view, const std::vector<std::int64_t>& shape) {
  return view.rank == static_cast<int>(shape.size()) && std::equal(shape.begin(), shape.end(), view.shape.begin());
}

// [tokens, heads * channels] as [tokens, heads, channels].
ConstTensorView with_heads(ConstTensorView view, std::int64_t heads, std::int64_t channels) {
  view.rank = 3;
  view.shape = {view.shape[0], heads, channels};
  view.strides = {view.strides[0], channels * view.strides[1], view.strides[1]};
  return view;
}

}  // namespace

std::vector<PortView> port_views(const VectorTensor& expected, const ConstTensorView& given) {
  std::vector<PortView> out;
  const auto& shape = expected.shape;
  const int rank = static_cast<int>(shape.size());
  const ConstTensorView plain = without_batch(given, rank);
  const bool of_heads = rank == 3 && expected.name != "scores";
  if (has_shape(plain, shape)) out.push_back({plain, expected.axes});
  if (of_heads && plain.rank == 3) {
    const ConstTensorView exchanged = transposed(plain, 0, 1);
    if (has_shape(exchanged, shape)) {
      const std::string last = expected.axes.substr(expected.axes.rfind(' ') + 1);
      out.push_back({exchanged, "heads, tokens, " + last});
    }
  }
  const ConstTensorView joined_heads = without_batch(given, 2);
  if (of_heads && joined_heads.rank == 2 && joined_heads.shape[0] == shape[0] &&
      joined_heads.shape[1] == shape[1] * shape[2]) {
    out.push_back({with_heads(joined_heads, shape[1], shape[2]), "tokens, heads and channels on one axis"});
  }
  return out;
}

// Where all that is held is right, hidden scores are looked at too: behind the mask all of them are far below the
// others, before it none is.
CheckedTensor hold(const Held& held, const ConstTensorView& port) {
  const VectorTensor& expected = held.expected;
  CheckedTensor out;
  const bool is_scores = held.mask != nullptr;
  const std::size_t token_axis = is_scores ? 1 : 0;
  std::int64_t within = 1;
  for (std::size_t axis = token_axis + 1; axis < expected.shape.size(); ++axis) within *= expected.shape[axis];
  const std::int64_t tokens = expected.shape[token_axis];
  std::vector<std::int64_t> place(expected.shape.size());
  double lowest = kInfinity;
  std::vector<std::pair<std::vector<std::int64_t>, double>> hidden;
  for (std::size_t n = 0; n < expected.values.size(); ++n) {
    const auto row = static_cast<std::int64_t>(n) / within;
    const std::int64_t token = row % tokens;
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < place.size(); ++axis) offset += place[axis] * port.strides[axis];
    const double got = reference::read(port, offset);
    const std::vector<std::int64_t> here = place;
    for (std::size_t axis = place.size(); axis-- > 0;) {
      if (++place[axis] < expected.shape[axis]) break;
      place[axis] = 0;
    }
    if (is_scores && held.mask->values[at(token * within) + n % at(within)] == 0.0) {
      hidden.emplace_back(here, got);
      continue;
    }
    const double wanted = expected.values[n] + (held.shift.empty() ? 0.0 : held.shift[at(row)]);
    lowest = std::min(lowest, wanted);
    const double bound =
        held.bound.absolute[held.bound.absolute.size() == 1 ? 0 : at(token)] + held.bound.relative * std::abs(wanted);
    const double error = std::abs(got - wanted);
    const double over = error == 0.0 ? 0.0 : std::isfinite(error) ? error / bound : kInfinity;
    ++out.elements;
    out.above += over > 1.0 ? 1 : 0;
    if (std::isfinite(error)) out.largest = std::max(out.largest, error);
    if (out.elements > 1 && over <= out.over_bound) continue;
    out.over_bound = over;
    out.worst = here;
    out.got = got;
    out.expected = wanted;
    out.bound = bound;
  }
  std::int64_t masked = 0;
  for (const auto& [where, got] : hidden) masked += got >= lowest - kFarBelow ? 0 : 1;
  const std::int64_t open = std::ssize(hidden) - masked;
  if (masked > 0 && open > 0) {
    const auto first = std::ranges::find_if(hidden, [&](const auto& one) { return one.second >= lowest - kFarBelow; });
    out.remark = formatted("{} of {} scores that the layer hides are not masked", open, hidden.size());
    out.above += open;
    out.over_bound = kInfinity;
    out.worst = first->first;
    out.got = first->second;
    out.expected = -kInfinity;
    out.bound = 0.0;
  }
  out.passes = out.above == 0;
  return out;
}

}  // namespace posenc::inline v0_2::golden
