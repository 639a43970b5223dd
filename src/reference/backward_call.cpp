// What the backward passes of attention (posenc/reference_backward.h) have in common: their checks, and what they read.
#include "reference/backward_call.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/formatted.h"
#include "math/learned_tensors.h"
#include "posenc/error.h"
#include "reference/elements.h"

namespace posenc::inline v0_2::reference {

AttendArgs forward_call(const AttendBackwardArgs& args) {
  const ConstTensorView& d = args.d_out;
  const ConstTensorView& d_lse = args.d_lse;
  return {
      .out = {.data = const_cast<void*>(d.data), .dtype = DType::f64, .rank = d.rank, .shape = d.shape},
      .q = args.q,
      .k = args.k,
      .v = args.v,
      .weights = args.weights,
      .inputs = args.inputs,
      .lse = {.data = const_cast<void*>(d_lse.data), .dtype = DType::f64, .rank = d_lse.rank, .shape = d_lse.shape}};
}

void check_backward(const char* where, const LayerPlan& layer, const AttendBackwardArgs& args,
                    const std::function<void()>& check_forward) {
  try {
    check_forward();
  } catch (const Error& error) {
    Problem problem = error.problem();
    for (const std::string_view gradient : {"out", "lse"}) {
      const bool is_it = problem.field == gradient || problem.field.starts_with(std::string(gradient) + ".");
      if (is_it) problem.field.insert(0, "d_");
    }
    throw Error(where, problem);
  }
  for (const auto& [field, given] : {std::pair{"d_out.dtype", args.d_out}, std::pair{"d_lse.dtype", args.d_lse}}) {
    if (given.dtype <= DType::f64) continue;
    throw Error(where, {field, "be f32, f16, bf16 or f64", formatted("{}", static_cast<int>(given.dtype))});
  }
  constexpr DType kWrittenAs[] = {DType::f64};
  const auto check = [&](const char* field, const TensorView& written, const ConstTensorView& like) {
    math::check_gradient(where, field, written, like, kWrittenAs);
  };
  check("d_q", args.d_q, args.q);
  check("d_k", args.d_k, args.k);
  check("d_v", args.d_v, args.v);
  check("d_bias", args.d_bias, args.inputs.bias);
  check("d_log_forget", args.d_log_forget, args.inputs.log_forget);
  check("d_row_gate", args.d_row_gate, args.inputs.row_gate);
  math::check_gradients(where, layer, args.weights, args.d_weights, kWrittenAs);
}

RowGiven given_for(const AttendBackwardArgs& args, const Row& row) {
  const bool is_batch = args.q.rank == 4;
  const std::int64_t b = row.sequence.batch;
  const std::int64_t i = is_batch ? row.i : row.sequence.q.first_row + row.i;
  RowGiven out{.out = std::vector<double>(index(row.layer.value_dim))};
  const std::int64_t first = offset_of(args.d_out, b, i, row.h);
  const std::int64_t stride = args.d_out.strides[index(args.d_out.rank - 1)];
  for (std::size_t c = 0; c < out.out.size(); ++c) {
    out.out[c] = read(args.d_out, first + static_cast<std::int64_t>(c) * stride);
  }
  if (args.d_lse.empty()) return out;
  const auto& s = args.d_lse.strides;
  out.lse = read(args.d_lse, is_batch ? b * s[0] + row.h * s[1] + i * s[2] : i * s[0] + row.h * s[1]);
  return out;
}

}  // namespace posenc::inline v0_2::reference
