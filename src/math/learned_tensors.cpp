// gradient_names() of posenc/attend_backward.h: all that a layer has learned. An overload for each score term and each
// scheme of the value stage: one that does not say what it has learned does not compile.
#include "math/learned_tensors.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/named_weights.h"

namespace posenc::math {
namespace {

ConstTensorView numbers(std::int64_t count) {
  return {.dtype = DType::f64, .rank = 1, .shape = {count}, .strides = {1}};
}

// What one term has, under its names. Tensors of rank 0 are omitted.
struct LearnedOfTerm {
  const ScoreWeights& weights;
  std::string prefix;
  std::vector<LearnedTensor>& out;

  // Null where the term was given another scheme's weights, or none.
  template <typename Weights>
  const Weights* as() const {
    return std::get_if<Weights>(&weights);
  }
  void add(const std::string& name, const ConstTensorView& tensor) const {
    if (!tensor.empty()) out.push_back({prefix + name, tensor});
  }
  void add(const std::string& name, const Linear& linear) const {
    add(name + ".weight", linear.weight);
    add(name + ".bias", linear.bias);
  }
  void add(const TransformerXlWeights& given) const {
    add("projection", given.projection);
    add("content_bias", given.content_bias);
    add("position_bias", given.position_bias);
    add("table", given.table);
  }
  template <typename Weights>
  void add_table() const {
    if (const auto* given = as<Weights>()) add("table", given->table);
  }

  void operator()(const Alibi& scheme) const { add("slopes", numbers(scheme.heads)); }
  void operator()(const Sandwich&) const {}
  void operator()(const ForgetGate&) const {}      // its gates are an input of the call
  void operator()(const DistanceLogits&) const {}  // so are its logits, a call's bias
  void operator()(const T5Bias&) const { add_table<T5Weights>(); }
  void operator()(const ClippedBias&) const { add_table<ClippedBiasWeights>(); }
  void operator()(const GridBias&) const { add_table<GridBiasWeights>(); }
  void operator()(const ContextualPosition&) const { add_table<CopeWeights>(); }
  void operator()(const ShawKeys&) const { add_table<ShawWeights>(); }  // none where rows are sinusoids
  void operator()(const Kerple&) const {
    const auto* given = as<KerpleWeights>();
    if (given == nullptr) return;
    add("r1", given->r1);
    add("r2", given->r2);
  }
  void operator()(const Fire&) const {
    const auto* given = as<FireWeights>();
    if (given == nullptr) return;
    add("c", numbers(1));
    add("threshold", numbers(1));
    add("hidden", given->hidden);
    add("out", given->out);
  }
  void operator()(const MlpBias&) const {
    const auto* given = as<MlpBiasWeights>();
    if (given == nullptr) return;
    for (std::size_t n = 0; n < given->layers.size(); ++n) add(formatted("layers.{}", n), given->layers[n]);
  }
  void operator()(const TransformerXl&) const {
    if (const auto* given = as<TransformerXlWeights>()) add(*given);
  }
  void operator()(const XlNet&) const {
    const auto* given = as<XlNetWeights>();
    if (given == nullptr) return;
    add(given->positions);
    add("segment_bias", given->segment_bias);
    add("segments", given->segments);
  }
  // A projection that no term of the scheme reads has no gradient.
  void operator()(const Deberta& scheme) const {
    const auto* given = as<DebertaWeights>();
    if (given == nullptr) return;
    add("table", given->table);
    if (scheme.content_to_position || scheme.position_to_position) add("keys", given->keys);
    if (scheme.position_to_content || scheme.position_to_position) add("queries", given->queries);
  }
  void operator()(const DecomposedHw&) const {
    const auto* given = as<DecomposedHwWeights>();
    if (given == nullptr) return;
    add("rows", given->rows);
    add("columns", given->columns);
  }
};

struct LearnedOfValues {
  const ShawWeights& weights;
  std::vector<LearnedTensor>& out;

  void operator()(std::monostate) const {}
  void operator()(const RotatedValues&) const {}  // its frequencies are the rotation's
  void operator()(const ShawValues&) const {
    if (!weights.table.empty()) out.push_back({"value_table", weights.table});
  }
};

std::vector<std::string> names_of(const std::vector<LearnedTensor>& learned) {
  std::vector<std::string> out;
  for (const LearnedTensor& one : learned) out.push_back(one.name);
  return out;
}

bool is_any_of(DType dtype, std::span<const DType> dtypes) {
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

std::string text_of(std::span<const DType> dtypes) {
  std::string out;
  for (const DType dtype : dtypes) out += (out.empty() ? "" : " or ") + std::string(name(dtype));
  return out;
}

// Throws Error for a name that is not among them; `field` has been given it.
const LearnedTensor& of_name(const char* where, const std::string& field, const std::vector<LearnedTensor>& learned,
                             std::string_view name) {
  const auto found = std::ranges::find(learned, name, &LearnedTensor::name);
  if (found != learned.end()) return *found;
  if (learned.empty()) throw Error(where, {field, "be omitted for a layer that has learned nothing", "given"});
  throw Error(where, {field, formatted("be of what the layer has learned, {},", joined(names_of(learned), ", ")),
                      formatted("\"{}\"", name)});
}

std::string shape_of(const ConstTensorView& x) {
  std::string out = "[";
  for (int axis = 0; axis < x.rank; ++axis) {
    out += formatted("{}{}", axis == 0 ? "" : ", ", x.shape[static_cast<std::size_t>(axis)]);
  }
  return out + "]";
}

}  // namespace

std::string prefix_of(std::size_t n, std::size_t count) { return count > 1 ? formatted("{}.", n) : ""; }

std::size_t main_rotations(const LayerPlan& layer) {
  return static_cast<std::size_t>(std::ranges::count(layer.rotate, RotateRole::main, &Rotate::role));
}

std::vector<LearnedTensor> learned_tensors(const LayerPlan& layer, const LayerWeights& weights) {
  static const ScoreWeights kNone;
  std::vector<LearnedTensor> out;
  for (std::size_t n = 0; n < layer.score.size(); ++n) {
    const ScoreWeights& of_term = n < weights.score.size() ? weights.score[n] : kNone;
    std::visit(LearnedOfTerm{of_term, prefix_of(n, layer.score.size()), out}, layer.score[n]);
  }
  std::visit(LearnedOfValues{weights.value, out}, layer.value);
  if (layer.sinks && !weights.sinks.empty()) out.push_back({"sinks", weights.sinks});
  const std::string name = "inv_freq";
  for (std::size_t n = 0; n < layer.rotate.size(); ++n) {
    const Rotate& one = layer.rotate[n];
    if (one.role != RotateRole::main) continue;
    out.push_back({prefix_of(n, main_rotations(layer)) + name, numbers(rope(one).pairs())});
  }
  return out;
}

void check_gradient(const char* where, const std::string& field, const TensorView& written, const ConstTensorView& like,
                    std::span<const DType> dtypes) {
  if (written.empty()) return;
  if (like.empty()) throw Error(where, {field, "be omitted, since the call has no such tensor", "given"});
  if (written.rank < 0 || written.rank > kMaxRank) {
    throw Error(where, {field, formatted("have a rank of at most {}", kMaxRank), formatted("{}", written.rank)});
  }
  bool has_elements = true;
  bool is_same = written.rank == like.rank;
  for (std::size_t axis = 0; is_same && axis < static_cast<std::size_t>(like.rank); ++axis) {
    is_same = written.shape[axis] == like.shape[axis];
    has_elements &= like.shape[axis] > 0;
  }
  if (!is_same) throw Error(where, {field, formatted("have shape {}", shape_of(like)), shape_of(written)});
  if (!is_any_of(written.dtype, dtypes)) {
    throw Error(where, {field + ".dtype", formatted("be {}", text_of(dtypes)),
                        written.dtype <= DType::f64 ? std::string(name(written.dtype))
                                                    : formatted("{}", static_cast<int>(written.dtype))});
  }
  if (has_elements && written.data == nullptr) throw Error(where, {field + ".data", "point to the elements", "null"});
}

void check_gradients(const char* where, const LayerPlan& layer, const LayerWeights& weights,
                     std::span<const NamedGradient> given, std::span<const DType> dtypes) {
  const std::vector<LearnedTensor> learned = learned_tensors(layer, weights);
  for (const NamedGradient& one : given) {
    const std::string field = formatted("d_weights[\"{}\"]", one.name);
    const LearnedTensor& found = of_name(where, field, learned, one.name);
    if (std::ranges::count(given, one.name, &NamedGradient::name) > 1) {
      throw Error(where, {field, "be given once", "given again"});
    }
    check_gradient(where, field, one.gradient, found.tensor, dtypes);
  }
}

}  // namespace posenc::math

namespace posenc::inline v0_2 {

std::vector<std::string> gradient_names(const LayerPlan& layer, const LayerWeights& weights) {
  return math::names_of(math::learned_tensors(layer, weights));
}

std::vector<std::int64_t> gradient_shape(const LayerPlan& layer, const LayerWeights& weights, std::string_view name) {
  const std::vector<math::LearnedTensor> learned = math::learned_tensors(layer, weights);
  const ConstTensorView& x = math::of_name("gradient_shape", "name", learned, name).tensor;
  return {x.shape.begin(), x.shape.begin() + x.rank};
}

}  // namespace posenc::inline v0_2
