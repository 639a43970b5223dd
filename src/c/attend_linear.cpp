// posenc_attend_linear and posenc_attend_linear_backward of posenc/c.h: linear attention with RoPE, attend_linear.h,
// for C.
// Learned tables, masks by array and orders have no members here: linear attention has no place for them.
#include "posenc/attend_linear.h"

#include <string>
#include <vector>

#include "c/arguments.h"
#include "c/attend_inputs.h"
#include "c/masked_layer.h"
#include "c/status.h"

namespace posenc::c {
namespace {

constexpr const char* kWhere = "posenc_attend_linear";
constexpr const char* kLinearBackward = "posenc_attend_linear_backward";

// One by one, and not by a cast: the two enumerations need not have the same numbers.
FeatureMap feature_map_of(const char* where, posenc_feature_map map) {
  switch (map) {
    case POSENC_ELU_PLUS_ONE: return FeatureMap::elu_plus_one;
    case POSENC_IDENTITY: return FeatureMap::identity;
    case POSENC_RELU: return FeatureMap::relu;
    default: break;
  }
  throw Error(where, {"feature_map", "be POSENC_ELU_PLUS_ONE, _IDENTITY or _RELU", std::to_string(map)});
}

// Of args of both passes.
template <typename Args>
LayerInputs inputs_of(const char* where, const Args& given) {
  LayerInputs out{.q_positions = positions_if(where, "q_positions", given.q_positions),
                  .k_positions = positions_if(where, "k_positions", given.k_positions),
                  .cu_seqlens_q = list(where, "cu_seqlens_q", given.cu_seqlens_q, given.cu_seqlens_q_count),
                  .cu_seqlens_k = list(where, "cu_seqlens_k", given.cu_seqlens_k, given.cu_seqlens_k_count)};
  if (given.length != 0) out.length = given.length;
  return out;
}

// False where keep_going cancelled the call.
bool passed_back(const posenc_attend_linear_backward_args& given) {
  LayerPlan changed;
  const LayerPlan& layer = masked_layer(kLinearBackward, given, changed);
  const auto of = [](const char* field, const posenc_tensor& x) { return view(kLinearBackward, field, x); };
  const std::vector<NamedGradient> gradients = named_gradients(kLinearBackward, given.d_weights, given.d_weights_count);
  return attend_linear_backward(layer, {.q = of("q", given.q),
                                        .k = of("k", given.k),
                                        .v = of("v", given.v),
                                        .inputs = inputs_of(kLinearBackward, given),
                                        .feature_map = feature_map_of(kLinearBackward, given.feature_map),
                                        .d_out = of("d_out", given.d_out),
                                        .d_q = of("d_q", given.d_q),
                                        .d_k = of("d_k", given.d_k),
                                        .d_v = of("d_v", given.d_v),
                                        .d_weights = gradients,
                                        .angles = angles_of(kLinearBackward, "angles", given.angles),
                                        .parallel = parallel_of(given.threads, given.executor),
                                        .keep_going = keep_going_of(given.keep_going, given.keep_going_context)});
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_attend_linear(const posenc_attend_linear_args* args) {
  return c::guarded([&]() -> posenc_status {
    const posenc_attend_linear_args& given = c::sized(c::kWhere, "args", args);
    posenc::LayerPlan changed;
    const bool is_done = attend_linear(c::masked_layer(c::kWhere, given, changed),
                                       {.out = c::view(c::kWhere, "out", given.out),
                                        .q = c::view(c::kWhere, "q", given.q),
                                        .k = c::view(c::kWhere, "k", given.k),
                                        .v = c::view(c::kWhere, "v", given.v),
                                        .inputs = c::inputs_of(c::kWhere, given),
                                        .feature_map = c::feature_map_of(c::kWhere, given.feature_map),
                                        .state = {.products = c::view(c::kWhere, "products", given.products),
                                                  .totals = c::view(c::kWhere, "totals", given.totals)},
                                        .angles = c::angles_of(c::kWhere, "angles", given.angles),
                                        .parallel = c::parallel_of(given.threads, given.executor),
                                        .keep_going = c::keep_going_of(given.keep_going, given.keep_going_context)});
    if (!is_done) return c::keep(POSENC_CANCELLED, "[posenc_attend_linear] keep_going returned false");
    return POSENC_OK;
  });
}

posenc_status posenc_attend_linear_backward(const posenc_attend_linear_backward_args* args) {
  return c::guarded([&]() -> posenc_status {
    const posenc_attend_linear_backward_args& given = c::sized(c::kLinearBackward, "args", args);
    if (c::passed_back(given)) return POSENC_OK;
    return c::keep(POSENC_CANCELLED, "[posenc_attend_linear_backward] keep_going returned false");
  });
}
