#include "vectors/given_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "reference/elements.h"
#include "vectors/layer_choice.h"
#include "vectors/tensor_views.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr std::int64_t kMostGiven = std::int64_t{1} << 22;      // of one input: 32 MiB of doubles
constexpr std::int64_t kFarthestGiven = std::int64_t{1} << 53;  // a double has whole numbers up to there

std::string given_shape_text(const ConstTensorView& x) {
  const std::vector<std::int64_t> shape(x.shape.begin(), x.shape.begin() + x.rank);
  return formatted("[{}]", joined(shape, ", "));
}

void require_given_shape(const char* name, const ConstTensorView& x, const std::vector<std::int64_t>& shape) {
  if (x.empty()) return;
  const bool fits = x.rank == 3 && std::equal(shape.begin(), shape.end(), x.shape.begin());
  if (fits) return;
  refuse(formatted("inputs.{}", name), formatted("have shape [{}]", joined(shape, ", ")),
         x.rank < 1 || x.rank > kMaxRank ? formatted("of rank {}", x.rank) : given_shape_text(x));
}

// In the order of the shape. Throws Error for what is non-finite.
VectorTensor given_tensor(std::string name, const ConstTensorView& x, std::string axes) {
  const std::string field = formatted("inputs.{}", name);
  if (x.dtype > DType::f64) refuse(field, "be f32, f16, bf16 or f64", formatted("{}", static_cast<int>(x.dtype)));
  VectorTensor out{.name = std::move(name), .axes = std::move(axes), .is_input = true};
  std::int64_t count = 1;
  for (int axis = 0; axis < x.rank; ++axis) {
    const std::int64_t size = x.shape[static_cast<std::size_t>(axis)];
    if (size < 0 || (size > 0 && count > kMostGiven / size)) {
      refuse(field, formatted("have at most {} elements", kMostGiven), given_shape_text(x));
    }
    out.shape.push_back(size);
    count *= size;
  }
  if (count > 0 && x.data == nullptr) refuse(field, "point to its elements", "null");
  out.values.reserve(at(count));
  std::vector<std::int64_t> place(out.shape.size());
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < place.size(); ++axis) offset += place[axis] * x.strides[axis];
    const double value = reference::read(x, offset);
    if (!std::isfinite(value)) refuse(field, "be finite", formatted("{} at [{}]", value, joined(place, ", ")));
    out.values.push_back(value);
    for (std::size_t axis = place.size(); axis-- > 0;) {
      if (++place[axis] < out.shape[axis]) break;
      place[axis] = 0;
    }
  }
  return out;
}

VectorTensor given_or_zeros(std::string name, const ConstTensorView& x, const std::vector<std::int64_t>& shape,
                            std::string axes) {
  if (!x.empty()) return given_tensor(std::move(name), x, std::move(axes));
  VectorTensor out{.name = std::move(name), .shape = shape, .axes = std::move(axes), .is_input = true};
  out.values.resize(at(shape[0] * shape[1] * shape[2]));
  return out;
}

std::int64_t given_axes(const LayerPlan& layer) {
  std::size_t axes = 1;
  for (const Rotate& rotate : layer.rotate) {
    if (rotate.role == RotateRole::main) axes = std::max(axes, rope(rotate).axes.names.size());
  }
  return static_cast<std::int64_t>(axes);
}

VectorTensor given_positions(const LayerPlan& layer, const VectorOptions& options, const VectorInputs& inputs) {
  const std::int64_t tokens = tokens_of(inputs);
  const std::int64_t axes = given_axes(layer);
  VectorTensor out{.name = "positions",
                   .shape = axes == 1 ? std::vector{tokens} : std::vector{axes, tokens},
                   .axes = axes == 1 ? "tokens" : "axes, tokens",
                   .is_input = true,
                   .is_whole = true};
  if (inputs.positions.empty()) {
    const std::int64_t start = options.start.value_or(0);
    if (start < 0 || start > kFarthestGiven - tokens) refuse("start", "be a position", formatted("{}", start));
    for (std::int64_t i = 0; i < axes * tokens; ++i) out.values.push_back(static_cast<double>(start + i % tokens));
    return out;
  }
  if (std::ssize(inputs.positions) != axes * tokens) {
    refuse("inputs.positions", formatted("have {} elements, {} for each token", axes * tokens, axes),
           formatted("of {}", inputs.positions.size()));
  }
  for (const std::int64_t position : inputs.positions) {
    if (position < -kFarthestGiven || position > kFarthestGiven) {
      refuse("inputs.positions", "be positions", formatted("{}", position));
    }
    out.values.push_back(static_cast<double>(position));
  }
  return out;
}

}  // namespace

std::int64_t tokens_of(const VectorInputs& inputs) { return (inputs.q.empty() ? inputs.k : inputs.q).shape[0]; }

LayerPlan layer_of_inputs(LayerPlan layer, const VectorInputs& inputs) {
  if (inputs.q.empty() && inputs.k.empty()) refuse("inputs.q", "be given, or k", "omitted");
  if (!inputs.v.empty() && (inputs.q.empty() || inputs.k.empty()))
    refuse("inputs.v", "have q and k beside it", "alone");
  const std::int64_t tokens = tokens_of(inputs);
  if (tokens < 1) refuse("inputs.q", "have a token", "without one");
  require_given_shape("q", inputs.q, {tokens, layer.heads, layer.head_dim});
  require_given_shape("k", inputs.k, {tokens, layer.kv_heads, layer.head_dim});
  require_given_shape("v", inputs.v, {tokens, layer.kv_heads, layer.value_dim});
  if (inputs.v.empty()) {  // nothing but the rotation is asked of it
    layer.score.clear();
    layer.value = {};
    layer.sinks = false;
  }
  return layer;
}

std::vector<VectorTensor> given_inputs(const LayerPlan& layer, const VectorOptions& options,
                                       const VectorInputs& inputs) {
  const std::int64_t tokens = tokens_of(inputs);
  std::vector<VectorTensor> out;
  out.push_back(given_or_zeros("q", inputs.q, {tokens, layer.heads, layer.head_dim}, "tokens, heads, head_dim"));
  out.push_back(given_or_zeros("k", inputs.k, {tokens, layer.kv_heads, layer.head_dim}, "tokens, kv_heads, head_dim"));
  // Of the rotation alone nobody reads them: of one channel.
  out.push_back(given_or_zeros("v", inputs.v, {tokens, layer.kv_heads, 1}, "tokens, kv_heads, value_dim"));
  out.push_back(given_positions(layer, options, inputs));
  VectorTensor order{.name = "order", .shape = {tokens}, .axes = "tokens", .is_input = true, .is_whole = true};
  for (std::int64_t t = 0; t < tokens; ++t) order.values.push_back(static_cast<double>(t));
  out.push_back(std::move(order));
  for (const NamedTensor& table : inputs.tables) {
    const std::string name(table.name);
    const bool is_there = std::ranges::find(out, name, &VectorTensor::name) != out.end();
    if (is_there) refuse("inputs.tables", "have names of their own", formatted("with \"{}\"", name));
    if (table.tensor.rank < 0 || table.tensor.rank > kMaxRank) {
      refuse(formatted("inputs.{}", name), formatted("have at most {} axes", kMaxRank),
             formatted("of rank {}", table.tensor.rank));
    }
    out.push_back(given_tensor(name, table.tensor, "a learned table"));
  }
  return out;
}

}  // namespace posenc::inline v0_2::golden
