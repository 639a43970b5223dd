// check_port: each tensor of a port by the best of the orders of axes that fit it; then, of the first stage that fails,
// what was done instead.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/scores.h"
#include "posenc/vectors.h"
#include "vectors/attention_faults.h"
#include "vectors/port_layouts.h"
#include "vectors/tensor_views.h"

namespace posenc::inline v0_2 {
namespace {

using golden::at;
using golden::PortView;

constexpr const char* kCheckPort = "check_port";

[[noreturn]] void refuse_output(std::string field, std::string must, std::string is) {
  throw Error(kCheckPort, {std::move(field), std::move(must), std::move(is)});
}

std::string shape_text(const ConstTensorView& x) {
  std::vector<std::int64_t> shape(x.shape.begin(), x.shape.begin() + std::clamp(x.rank, 0, kMaxRank));
  return formatted("[{}]", joined(shape, ", "));
}

// The results that a port may give, in the order of the stages.
std::vector<const VectorTensor*> results_of(const Vectors& vectors) {
  std::vector<const VectorTensor*> out;
  for (const VectorTensor& tensor : vectors.tensors) {
    if (!tensor.is_input && tensor.name != "mask") out.push_back(&tensor);
  }
  return out;
}

void require_outputs(const Vectors& vectors, std::span<const NamedTensor> outputs) {
  std::vector<std::string> names;
  for (const VectorTensor* result : results_of(vectors)) names.push_back(result->name);
  if (outputs.empty()) refuse_output("outputs", formatted("have one of {} at least", joined(names, ", ")), "empty");
  for (const NamedTensor& one : outputs) {
    const std::string field = formatted("outputs[\"{}\"]", one.name);
    if (std::ranges::count(outputs, one.name, &NamedTensor::name) > 1)
      refuse_output(field, "be given once", "given again");
    if (std::ranges::find(names, one.name) == names.end()) {
      refuse_output(field, formatted("be a result of the vectors: {}", joined(names, ", ")), "none");
    }
    const VectorTensor& expected = *vectors.find(one.name);
    if (one.tensor.rank < 1 || one.tensor.rank > kMaxRank || golden::port_views(expected, one.tensor).empty()) {
      refuse_output(field, formatted("have shape [{}] ({})", joined(expected.shape, ", "), expected.axes),
                    shape_text(one.tensor));
    }
    if (one.tensor.dtype > DType::f64) {
      refuse_output(field, "be f32, f16, bf16 or f64", formatted("{}", static_cast<int>(one.tensor.dtype)));
    }
    if (one.tensor.data == nullptr && !expected.values.empty()) refuse_output(field, "point to its elements", "null");
  }
}

DType judged_as(const NamedTensor& output, const CheckPortOptions& options) {
  const DType dtype = options.dtype.value_or(output.tensor.dtype);
  return dtype == DType::f64 ? DType::f32 : dtype;
}

const VectorBounds& bounds_of(const Vectors& vectors, DType dtype) {
  const auto found = std::ranges::find(vectors.bounds, dtype, &VectorBounds::dtype);
  if (found == vectors.bounds.end())
    refuse_output("dtype", "be one that the vectors have bounds for", std::string(name(dtype)));
  return *found;
}

const VectorBound& bound_of(const VectorBounds& bounds, std::string_view tensor) {
  const auto found = std::ranges::find(bounds.bounds, tensor, &VectorBound::tensor);
  if (found == bounds.bounds.end()) refuse_output(std::string(tensor), "have a bound", "without one");
  return *found;
}

// ALiBi in its other form differs by a number for each query, of which the softmax knows nothing: slope_h j is
// -slope_h (i - j) + slope_h i. [heads, queries]; empty: the layer has no such form.
std::vector<double> shift_of_alibi(const Vectors& vectors) {
  const LayerPlan& layer = vectors.layer;
  const VectorTensor* positions = vectors.find("positions");
  const bool is_alone = layer.score.size() == 1 && !layer.soft_cap && positions != nullptr;
  const auto* alibi = is_alone ? std::get_if<Alibi>(&layer.score.front()) : nullptr;
  if (alibi == nullptr || alibi->symmetric) return {};
  const double sign = alibi->form == AlibiForm::relative ? 1.0 : -1.0;
  const double scale = alibi->scaled ? layer.softmax_scale : 1.0;
  std::vector<double> out;
  for (const double slope : alibi_slopes(*alibi)) {
    for (std::int64_t i = 0; i < vectors.options.tokens.value_or(0); ++i) {
      out.push_back(sign * scale * slope * positions->values[at(i)]);
    }
  }
  return out;
}

struct Judged {
  CheckedTensor checked;
  ConstTensorView view{};  // along the expected tensor's axes
};

Judged judge(const Vectors& vectors, const NamedTensor& output, DType dtype) {
  const VectorTensor& expected = *vectors.find(output.name);
  const VectorBound& bound = bound_of(bounds_of(vectors, dtype), output.name);
  const bool is_scores = output.name == "scores";
  Judged best;
  const auto try_view = [&](const PortView& seen, std::vector<double> shift, std::string remark) {
    CheckedTensor checked = golden::hold({.expected = expected,
                                          .bound = bound,
                                          .mask = is_scores ? vectors.find("mask") : nullptr,
                                          .shift = std::move(shift)},
                                         seen.view);
    checked.name = output.name;
    checked.dtype = dtype;
    checked.layout = seen.words;
    if (checked.remark.empty()) checked.remark = std::move(remark);
    const bool is_better = best.checked.name.empty() || (checked.passes && !best.checked.passes) ||
                           (checked.passes == best.checked.passes && checked.above < best.checked.above);
    if (is_better) best = {std::move(checked), seen.view};
  };
  for (const PortView& seen : golden::port_views(expected, output.tensor)) {
    try_view(seen, {}, "");
    const std::vector<double> shift = is_scores ? shift_of_alibi(vectors) : std::vector<double>{};
    if (!shift.empty()) try_view(seen, shift, "ALiBi in its other form, which adds a number to each query's scores");
  }
  return best;
}

// Of the rotation of q or k.
void diagnose_rotation(const Vectors& vectors, const ConstTensorView& after, const std::string& before,
                       PortCheck& out) {
  const auto rotate = std::ranges::find(vectors.layer.rotate, RotateRole::main, &Rotate::role);
  if (rotate == vectors.layer.rotate.end()) return;
  const std::int64_t axes = std::ssize(rope(*rotate).axes.names);
  std::vector<double> positions = vectors.find("positions")->values;
  positions.resize(std::min(positions.size(), at(axes * vectors.options.tokens.value_or(0))));
  try {
    out.diagnosis = diagnose({.before = golden::view(*vectors.find(before)),
                              .after = after,
                              .rotate = &*rotate,
                              .plan = &vectors.plan,
                              .length = vectors.options.length,
                              .start = {},
                              .positions = positions});
    out.diagnosed = before;
  } catch (const Error&) {
    // A NaN, or a scheme that it knows nothing of: where the worst element stands is all that can be said.
  }
}

}  // namespace

PortCheck check_port(const Vectors& vectors, std::span<const NamedTensor> outputs, const CheckPortOptions& options) {
  require_outputs(vectors, outputs);
  PortCheck out{.passes = true};
  std::vector<Judged> judged;
  for (const VectorTensor* result : results_of(vectors)) {
    const auto given = std::ranges::find(outputs, result->name, &NamedTensor::name);
    if (given != outputs.end()) judged.push_back(judge(vectors, *given, judged_as(*given, options)));
  }
  for (const Judged& one : judged) {
    out.tensors.push_back(one.checked);
    if (!one.checked.passes && out.passes) out.first_failure = one.checked.name;
    out.passes = out.passes && one.checked.passes;
  }
  if (out.passes || !options.diagnose) return out;
  const auto of = [&](std::string_view name) {
    return std::ranges::find_if(judged, [&](const Judged& one) { return one.checked.name == name; });
  };
  const auto fails = [&](std::string_view name) { return of(name) != judged.end() && !of(name)->checked.passes; };
  const auto passes = [&](std::string_view name) { return of(name) != judged.end() && of(name)->checked.passes; };
  for (const std::string before : {"q", "k"}) {
    if (!fails(before + "_rotated")) continue;
    diagnose_rotation(vectors, of(before + "_rotated")->view, before, out);
    return out;
  }
  for (const std::string stage : {"scores", "out"}) {
    if (!fails(stage)) continue;
    const Judged& one = *of(stage);
    out.findings = golden::attention_faults(vectors, bounds_of(vectors, one.checked.dtype), stage, one.view,
                                            passes("q_rotated") && passes("k_rotated"));
    out.diagnosed = stage;
    return out;
  }
  return out;
}

}  // namespace posenc::inline v0_2
