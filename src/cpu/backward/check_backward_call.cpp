// Checks of a call of attend_backward: first those of attend, then gradients against what they are gradients of, and
// that nothing written shares memory with anything else.
#include "cpu/backward/check_backward_call.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "cpu/attend/check_attend_call.h"
#include "cpu/call/heads_view.h"
#include "cpu/call/tensor_memory.h"
#include "math/learned_tensors.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

constexpr const char* kAttendBackward = "attend_backward";
constexpr std::array kOfTensors{DType::f32, DType::f16, DType::bf16};
constexpr std::array kOfWeights{DType::f32, DType::f64};
constexpr std::array kOfNumbers{DType::f32};

TensorView written(const ConstTensorView& x) {
  return {const_cast<void*>(x.data), x.dtype, x.rank, x.shape, x.strides};
}

void require_aligned(const std::string& field, const ConstTensorView& x) {
  if (!x.empty() && !is_aligned(x))
    throw Error(kAttendBackward, {field + ".data", "be aligned to its elements", "between two"});
}

// Of heads: channels are adjacent.
void check_heads(const std::string& field, const TensorView& x, const ConstTensorView& like) {
  math::check_gradient(kAttendBackward, field, x, like, kOfTensors);
  if (x.empty()) return;
  const auto last = static_cast<std::size_t>(x.rank - 1);
  if (x.shape[last] > 1 && x.strides[last] != 1) {
    throw Error(kAttendBackward, {formatted("{}.strides[{}]", field, last),
                                  "be 1, since channels of a head are adjacent", formatted("{}", x.strides[last])});
  }
  require_aligned(field, x);
}

void require_given(const std::string& field, const ConstTensorView& x) {
  if (x.empty()) throw Error(kAttendBackward, {field, "be given", "omitted"});
}

// The rows of the call, where keys are paged.
ConstTensorView rows_of_pages(const AttendBackwardArgs& args, const ConstTensorView& x) {
  if (args.pages.block_table.empty()) return x;
  return {.data = x.data,
          .dtype = x.dtype,
          .rank = 3,
          .shape = {args.inputs.cu_seqlens_k.back(), x.shape[2], x.shape[3]},
          .strides = {}};
}

void check_numbers(const std::string& field, const TensorView& x, const ConstTensorView& like) {
  math::check_gradient(kAttendBackward, field, x, like, kOfWeights);
  require_aligned(field, x);
}

using Named = std::vector<std::pair<std::string, ConstTensorView>>;

// Of what attend reads, what may be a neighbour of what is written.
Named all_read(const AttendBackwardArgs& args) {
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

Named all_written(const AttendBackwardArgs& args) {
  Named out{{"d_q", args.d_q},
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

void check_memory(const LayerPlan& layer, const AttendBackwardArgs& args) {
  Named read = all_read(args);
  for (const math::LearnedTensor& table : math::learned_tensors(layer, args.weights)) {
    if (table.tensor.data != nullptr) read.emplace_back(table.name, table.tensor);
  }
  const Named all = all_written(args);
  for (std::size_t n = 0; n < all.size(); ++n) {
    const auto& [field, own] = all[n];
    if (!has_elements(own)) continue;
    const Memory memory = memory_of(kAttendBackward, field, own);
    check_places(kAttendBackward, field, memory);
    const auto check = [&, &name = field](const std::string& other, const ConstTensorView& x) {
      if (!has_elements(x) || are_disjoint(memory, memory_of(kAttendBackward, other, x))) return;
      throw Error(kAttendBackward, {name, formatted("not share memory with {}", other), "memory of both"});
    };
    for (const auto& [other, x] : read) check(other, x);
    for (std::size_t before = 0; before < n; ++before) check(all[before].first, all[before].second);
  }
}

}  // namespace

AttendArgs forward_args(const AttendBackwardArgs& args) {
  return {.out = written(args.out),
          .q = args.q,
          .k = args.k,
          .v = args.v,
          .pages = args.pages,
          .weights = args.weights,
          .inputs = args.inputs,
          .lse = written(args.lse),
          .carry = written(args.carry),
          .parallel = args.parallel,
          .isa = args.isa};
}

math::CallSizes check_backward_call(const LayerPlan& layer, const AttendBackwardArgs& args, const AttendArgs& forward) {
  require_given("out", args.out);
  require_given("lse", args.lse);
  require_given("d_out", args.d_out);
  const math::CallSizes sizes = check_attend_call(layer, forward);
  check_heads("d_out", written(args.d_out), args.out);
  math::check_gradient(kAttendBackward, "d_lse", written(args.d_lse), args.lse, kOfNumbers);
  require_aligned("d_lse", args.d_lse);
  check_heads("d_q", args.d_q, args.q);
  check_heads("d_k", args.d_k, rows_of_pages(args, args.k));
  check_heads("d_v", args.d_v, rows_of_pages(args, args.v));
  check_numbers("d_bias", args.d_bias, args.inputs.bias);
  check_numbers("d_log_forget", args.d_log_forget, args.inputs.log_forget);
  check_numbers("d_row_gate", args.d_row_gate, args.inputs.row_gate);
  if (!args.d_carry.empty()) require_sum_along_keys(kAttendBackward, "d_carry", layer);
  math::check_gradient(kAttendBackward, "d_carry", args.d_carry, args.lse, kOfNumbers);
  require_aligned("d_carry", args.d_carry);
  math::check_gradients(kAttendBackward, layer, args.weights, args.d_weights, kOfWeights);
  for (const NamedGradient& one : args.d_weights) {
    require_aligned(formatted("d_weights[\"{}\"]", one.name), one.gradient);
  }
  check_memory(layer, args);
  return sizes;
}

}  // namespace posenc::cpu
