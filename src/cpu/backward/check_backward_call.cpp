// Checks of a call of attend_backward: first those of attend, then gradients against what they are gradients of, and
// that nothing written shares memory with anything else.
#include "cpu/backward/check_backward_call.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "cpu/attend/check_attend_call.h"
#include "cpu/backward/check_gradients.h"
#include "math/learned_tensors.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

constexpr const char* kAttendBackward = "attend_backward";
constexpr std::array kOfNumbers{DType::f32};

// The rows of the call, where keys are paged.
ConstTensorView rows_of_pages(const AttendBackwardArgs& args, const ConstTensorView& x) {
  if (args.pages.block_table.empty()) return x;
  return {.data = x.data,
          .dtype = x.dtype,
          .rank = 3,
          .shape = {args.inputs.cu_seqlens_k.back(), x.shape[2], x.shape[3]},
          .strides = {}};
}

// Of what attend reads, what may be a neighbour of what is written.
NamedTensors all_read(const AttendBackwardArgs& args) {
  return {{"q", args.q},
          {"k", args.k},
          {"v", args.v},
          {"out", args.out},
          {"lse", args.lse},
          {"d_out", args.d_out},
          {"d_lse", args.d_lse},
          {"carry", args.carry},
          {"bias", args.inputs.bias},
          {"attn_mask", args.inputs.attn_mask},
          {"log_forget", args.inputs.log_forget},
          {"row_gate", args.inputs.row_gate}};
}

NamedTensors all_written(const AttendBackwardArgs& args) {
  NamedTensors out{{"d_q", args.d_q},
                   {"d_k", args.d_k},
                   {"d_v", args.d_v},
                   {"d_bias", args.d_bias},
                   {"d_log_forget", args.d_log_forget},
                   {"d_row_gate", args.d_row_gate},
                   {"d_carry", args.d_carry}};
  for (const NamedGradient& one : args.d_weights) {
    out.emplace_back(formatted("d_weights[\"{}\"]", one.name), one.gradient);
  }
  return out;
}

// Of two schemes [2, ..].
void check_carry_gradient(const LayerPlan& layer, const AttendBackwardArgs& args) {
  if (args.d_carry.empty()) return;
  ConstTensorView like = args.lse;
  if (require_sums_along_keys(kAttendBackward, "d_carry", layer) == 2) {
    ++like.rank;
    like.shape = {2, args.lse.shape[0], args.lse.shape[1], args.lse.shape[2]};
  }
  math::check_gradient(kAttendBackward, "d_carry", args.d_carry, like, kOfNumbers);
}

void check_memory(const LayerPlan& layer, const AttendBackwardArgs& args) {
  NamedTensors read = all_read(args);
  for (const math::LearnedTensor& table : math::learned_tensors(layer, args.weights)) {
    if (table.tensor.data != nullptr) read.emplace_back(table.name, table.tensor);
  }
  check_written_apart(kAttendBackward, all_written(args), read);
}

}  // namespace

AttendArgs forward_args(const AttendBackwardArgs& args) {
  return {.out = written_view(args.out),
          .q = args.q,
          .k = args.k,
          .v = args.v,
          .pages = args.pages,
          .weights = args.weights,
          .inputs = args.inputs,
          .lse = written_view(args.lse),
          .carry = written_view(args.carry),
          .parallel = args.parallel,
          .isa = args.isa};
}

math::CallSizes check_backward_call(const LayerPlan& layer, const AttendBackwardArgs& args, const AttendArgs& forward) {
  require_given(kAttendBackward, "out", args.out);
  require_given(kAttendBackward, "lse", args.lse);
  require_given(kAttendBackward, "d_out", args.d_out);
  const math::CallSizes sizes = check_attend_call(layer, forward);
  check_heads_gradient(kAttendBackward, "d_out", written_view(args.d_out), args.out);
  math::check_gradient(kAttendBackward, "d_lse", written_view(args.d_lse), args.lse, kOfNumbers);
  require_aligned(kAttendBackward, "d_lse", args.d_lse);
  check_heads_gradient(kAttendBackward, "d_q", args.d_q, args.q);
  check_heads_gradient(kAttendBackward, "d_k", args.d_k, rows_of_pages(args, args.k));
  check_heads_gradient(kAttendBackward, "d_v", args.d_v, rows_of_pages(args, args.v));
  check_numbers_gradient(kAttendBackward, "d_bias", args.d_bias, args.inputs.bias);
  check_numbers_gradient(kAttendBackward, "d_log_forget", args.d_log_forget, args.inputs.log_forget);
  check_numbers_gradient(kAttendBackward, "d_row_gate", args.d_row_gate, args.inputs.row_gate);
  check_carry_gradient(layer, args);
  require_aligned(kAttendBackward, "d_carry", args.d_carry);
  check_learned_gradients(kAttendBackward, layer, args.weights, args.d_weights);
  check_memory(layer, args);
  return sizes;
}

}  // namespace posenc::cpu
