// Checks of attend_linear and its backward pass: those of attend without a softmax's, no mask that sums over all keys
// cannot honour; a state of the right shape that shares no memory; gradients of the right shapes.
#include "cpu/linear/check_linear_call.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/formatted.h"
#include "cpu/attend/check_attend_call.h"
#include "cpu/backward/check_gradients.h"
#include "cpu/call/heads_view.h"
#include "cpu/call/tensor_memory.h"
#include "math/check/check_attend.h"
#include "math/check/check_linear.h"

namespace posenc::cpu {
namespace {

constexpr std::string_view kAttendLinear = "attend_linear";
constexpr const char* kBackward = "attend_linear_backward";

// Sums over all keys know no key from another.
void check_mask(const LayerPlan& layer, const LayerInputs& inputs) {
  const auto require_none = [](bool none, const char* field) {
    if (!none) math::refuse(field, "be omitted in linear attention, which sums over all keys,", "given");
  };
  const MaskKind kind = layer.mask.kind;
  if (kind != MaskKind::causal && kind != MaskKind::bidirectional) {
    math::refuse("layer.mask.kind", "be causal or bidirectional in linear attention", "another");
  }
  require_none(!layer.mask.window, "layer.mask.window");
  require_none(!layer.mask.chunk, "layer.mask.chunk");
  require_none(inputs.attn_mask.empty(), "attn_mask");
  require_none(inputs.q_order.empty(), "q_order");
  require_none(inputs.k_order.empty(), "k_order");
}

// One of the state's two tensors: f32, with a last axis without gaps. Other strides are the caller's.
void check_sum(const std::string& field, const TensorView& x) {
  if (x.dtype != DType::f32) math::refuse(field + ".dtype", "be f32", std::string(name(x.dtype)));
  const auto last = static_cast<std::size_t>(x.rank - 1);
  if (x.shape[last] > 1 && x.strides[last] != 1) {
    math::refuse(formatted("{}.strides[{}]", field, last), "be 1", formatted("{}", x.strides[last]));
  }
  if (!is_aligned(x)) math::refuse(field + ".data", "be aligned to its elements", "between two");
}

struct Named {
  std::string name;
  ConstTensorView view;
};

// The state shares no element with another tensor, nor within itself.
void check_memory(const AttendLinearArgs& args) {
  const Named products{"state.products", args.state.products};
  const Named totals{"state.totals", args.state.totals};
  const std::vector<Named> others{{"q", args.q}, {"k", args.k}, {"v", args.v}, {"out", args.out}, totals};
  const auto check = [](const Named& written, std::span<const Named> all) {
    if (!has_elements(written.view)) return;
    const Memory own = memory_of(kAttendLinear, written.name, written.view);
    check_places(kAttendLinear, written.name, own);
    for (const Named& other : all) {
      if (!has_elements(other.view) || are_disjoint(own, memory_of(kAttendLinear, other.name, other.view))) continue;
      math::refuse(written.name, formatted("not share memory with {}", other.name), "memory of both");
    }
  };
  check(products, others);
  check(totals, std::span(others).first(others.size() - 1));
}

// Both tensors or neither. Without positions each call would count from 0 again, and the keys in the state were rotated
// by where they stood.
void check_state(const LayerPlan& layer, const AttendLinearArgs& args, const math::CallSizes& sizes) {
  const LinearState& state = args.state;
  if (state.products.empty() && state.totals.empty()) return;
  const auto packed = static_cast<std::int64_t>(args.inputs.cu_seqlens_k.size()) - 1;
  const std::int64_t sequences = packed > 0 ? packed : sizes.batch;
  math::require_shape("state.products", state.products, {sequences, layer.kv_heads, layer.head_dim, layer.value_dim});
  math::require_shape("state.totals", state.totals, {sequences, layer.kv_heads, layer.head_dim});
  check_sum("state.products", state.products);
  check_sum("state.totals", state.totals);
  check_memory(args);
  const bool rotates =
      std::ranges::any_of(layer.rotate, [](const Rotate& one) { return one.role == RotateRole::main; });
  if (!rotates) return;
  const char* const must = "be given with a state, which does not say where its tokens stood,";
  if (!args.inputs.q_positions) math::refuse("q_positions", must, "omitted");
  if (!args.inputs.k_positions) math::refuse("k_positions", must, "omitted");
}

void check_map(FeatureMap map) {
  if (map <= FeatureMap::relu) return;
  math::refuse("feature_map", "be elu_plus_one, identity or relu", formatted("{}", static_cast<int>(map)));
}

// What both passes are given.
math::CallSizes check_shared(const LayerPlan& layer, FeatureMap map, const AttendArgs& same, bool writes) {
  math::refuse_softmax_terms(layer, same.inputs);
  check_mask(layer, same.inputs);
  check_map(map);
  return check_attend_call(layer, same, writes);
}

}  // namespace

math::CallSizes check_linear_call(const LayerPlan& layer, const AttendLinearArgs& args, const AttendArgs& same) {
  const math::CallSizes sizes = check_shared(layer, args.feature_map, same, true);
  check_state(layer, args, sizes);
  return sizes;
}

math::CallSizes check_linear_backward(const LayerPlan& layer, const AttendLinearBackwardArgs& args,
                                      const AttendArgs& same) {
  require_given(kBackward, "d_out", args.d_out);
  math::CallSizes sizes;
  try {
    sizes = check_shared(layer, args.feature_map, same, false);
  } catch (const Error& error) {  // the name of the call that was made, and what stands for its out
    Problem problem = error.problem();
    if (problem.field == "out" || problem.field.starts_with("out.")) problem.field.insert(0, "d_");
    throw Error(kBackward, problem);
  }
  check_heads_gradient(kBackward, "d_q", args.d_q, args.q);
  check_heads_gradient(kBackward, "d_k", args.d_k, args.k);
  check_heads_gradient(kBackward, "d_v", args.d_v, args.v);
  check_learned_gradients(kBackward, layer, {}, args.d_weights);
  NamedTensors written{{"d_q", args.d_q}, {"d_k", args.d_k}, {"d_v", args.d_v}};
  for (const NamedGradient& one : args.d_weights) {
    written.emplace_back(formatted("d_weights[\"{}\"]", one.name), one.gradient);
  }
  check_written_apart(kBackward, written, {{"q", args.q}, {"k", args.k}, {"v", args.v}, {"d_out", args.d_out}});
  return sizes;
}

}  // namespace posenc::cpu
