// posenc_attend_backward of posenc/c.h: attend_backward.h for C. What is computed and checked is the C++ call's.
#include "posenc/attend_backward.h"

#include <span>
#include <vector>

#include "c/arguments.h"
#include "c/attend_inputs.h"
#include "c/masked_layer.h"
#include "c/status.h"

namespace posenc::c {
namespace {

constexpr const char* kBackward = "posenc_attend_backward";

// All but the weights.
AttendBackwardArgs args_of(const posenc_attend_backward_args& given, std::span<const NamedGradient> gradients) {
  const auto of = [](const char* field, const posenc_tensor& x) { return view(kBackward, field, x); };
  return {.q = of("q", given.q),
          .k = of("k", given.k),
          .v = of("v", given.v),
          .pages = {list(kBackward, "block_table", given.block_table, given.block_table_count)},
          .inputs = attention_inputs(kBackward, given),
          .out = of("out", given.out),
          .lse = of("lse", given.lse),
          .d_out = of("d_out", given.d_out),
          .d_lse = of("d_lse", given.d_lse),
          .carry = of("carry", given.carry),
          .d_q = of("d_q", given.d_q),
          .d_k = of("d_k", given.d_k),
          .d_v = of("d_v", given.d_v),
          .d_weights = gradients,
          .d_bias = of("d_bias", given.d_bias),
          .d_log_forget = of("d_log_forget", given.d_log_forget),
          .d_row_gate = of("d_row_gate", given.d_row_gate),
          .d_carry = of("d_carry", given.d_carry),
          .parallel = parallel_of(given.threads, given.executor),
          .keep_going = keep_going_of(given.keep_going, given.keep_going_context)};
}

// False where keep_going cancelled the call.
bool passed_back(const posenc_attend_backward_args& given) {
  const std::vector<NamedGradient> gradients = named_gradients(kBackward, given.d_weights, given.d_weights_count);
  AttendBackwardArgs args = args_of(given, gradients);
  if (given.prepared != nullptr) {
    require_no_layer(kBackward, given);
    return attend_backward(given.prepared->layer, args);
  }
  LayerPlan changed;
  const LayerPlan& layer = masked_layer(kBackward, given, changed);
  args.weights = attention_weights(kBackward, given, layer);
  return attend_backward(layer, args);
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_attend_backward(const posenc_attend_backward_args* args) {
  return c::guarded([&]() -> posenc_status {
    const posenc_attend_backward_args& given = c::sized(c::kBackward, "args", args);
    if (c::passed_back(given)) return POSENC_OK;
    return c::keep(POSENC_CANCELLED, "[posenc_attend_backward] keep_going returned false");
  });
}
