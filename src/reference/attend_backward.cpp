// reference::attend_backward: the equation of posenc/reference_backward.h, row by row in double, by the transposes of
// formula_gradients.h. The forward pass of a row is softmax_row.h, as attend() has it.
//
//   dz_ij = p_ij (do_i . v'_ij - D_i) + exp(z_ij - lse_i) dlse_i,   D_i = sum_j p_ij do_i . v'_ij
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "math/learned_tensors.h"
#include "math/score/soft_cap.h"
#include "posenc/error.h"
#include "posenc/reference.h"
#include "posenc/reference_backward.h"
#include "reference/check_double.h"
#include "reference/elements.h"
#include "reference/formula_gradients.h"
#include "reference/mask.h"
#include "reference/sequences.h"
#include "reference/softmax_row.h"

namespace posenc::inline v0_2::reference {
namespace {

constexpr const char* kAttendBackward = "attend_backward";
constexpr DType kWrittenAs[] = {DType::f64};

// The forward call. Its `out` is read by nobody: what is checked of it is the shape of d_out.
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

// The checks of attend, whose out and lse stand for d_out and d_lse here.
void check_forward(const LayerPlan& layer, const AttendArgs& forward) {
  try {
    check_double(layer, forward);
  } catch (const Error& error) {
    Problem problem = error.problem();
    for (const std::string_view gradient : {"out", "lse"}) {
      const bool is_it = problem.field == gradient || problem.field.starts_with(std::string(gradient) + ".");
      if (is_it) problem.field.insert(0, "d_");
    }
    throw Error(kAttendBackward, problem);
  }
}

// As attend is checked; then what comes in of gradients, and what goes out.
void check_backward(const LayerPlan& layer, const AttendArgs& forward, const AttendBackwardArgs& args) {
  check_forward(layer, forward);
  for (const auto& [field, given] : {std::pair{"d_out.dtype", args.d_out}, std::pair{"d_lse.dtype", args.d_lse}}) {
    if (given.dtype <= DType::f64) continue;
    throw Error(kAttendBackward, {field, "be f32, f16, bf16 or f64", formatted("{}", static_cast<int>(given.dtype))});
  }
  const auto check = [](const char* field, const TensorView& written, const ConstTensorView& like) {
    math::check_gradient(kAttendBackward, field, written, like, kWrittenAs);
  };
  check("d_q", args.d_q, args.q);
  check("d_k", args.d_k, args.k);
  check("d_v", args.d_v, args.v);
  check("d_bias", args.d_bias, args.inputs.bias);
  check("d_log_forget", args.d_log_forget, args.inputs.log_forget);
  check("d_row_gate", args.d_row_gate, args.inputs.row_gate);
  math::check_gradients(kAttendBackward, layer, args.weights, args.d_weights, kWrittenAs);
}

// What the row's output and lse are given: [value_dim], and a number.
struct Given {
  std::vector<double> out;
  double lse = 0.0;
};

Given given_for(const AttendBackwardArgs& args, const Row& row) {
  const bool is_batch = args.q.rank == 4;
  const std::int64_t b = row.sequence.batch;
  const std::int64_t i = is_batch ? row.i : row.sequence.q.first_row + row.i;
  Given out{.out = std::vector<double>(index(row.layer.value_dim))};
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

// d, the gradient of what a soft cap gave at this place, to that of what it was given.
double through_cap(const std::optional<SoftCap>& cap, SoftCap::Order now, double capped, double d) {
  return cap && cap->order == now ? d * math::soft_cap_derivative(cap->cap, capped) : d;
}

// The element of a bias that this score was given, which may serve more scores than one.
void add_bias(GradientSum& to, const ConstTensorView& bias, const Row& row, std::int64_t j, double d) {
  const bool is_packed = row.args.q.rank == 3;
  const std::array<std::int64_t, 4> place{row.sequence.batch, row.h, row.i + (is_packed ? row.sequence.q.first_row : 0),
                                          j + (is_packed ? row.sequence.k.first_row : 0)};
  const auto at = [&](int axis) {
    return bias.shape[index(axis)] == 1 ? 0 : place[static_cast<std::size_t>(axis + 4 - bias.rank)];
  };
  switch (bias.rank) {
    case 2: return to.add({at(0), at(1)}, d);
    case 3: return to.add({at(0), at(1), at(2)}, d);
    default: return to.add({at(0), at(1), at(2), at(3)}, d);
  }
}

// dL / dz of each key, [keys], and of the sink. Adds to the gradients of values on the way.
//
// The sink takes exp(sink - lse) / (1 + exp(sink - lse)) of the weight, and what the keys give without it has no part
// in lse. A row that sees nothing gives 0 whatever its numbers are.
std::vector<double> softmax_backward(FormulaScores& scores, FormulaGradients& gradients, const Row& row,
                                     const SoftmaxRow& soft, const Given& given, RowGradient& to) {
  const std::size_t keys = soft.z.size();
  std::vector<double> out(index(row.layer.value_dim));
  std::vector<std::vector<double>> values(keys);
  for (std::size_t j = 0; j < keys; ++j) {
    if (soft.weights[j] == 0.0) continue;
    values[j] = scores.value(row, static_cast<std::int64_t>(j));
    for (std::size_t c = 0; c < out.size(); ++c) out[c] += soft.weights[j] * values[j][c];
  }
  const std::vector<double> d_out = gradients.output(row, out, given.out);
  const double mean = dot(d_out, out);
  std::vector<double> dz(keys);
  for (std::size_t j = 0; j < keys; ++j) {
    if (soft.z[j] == kUnseen) continue;
    dz[j] = std::exp(soft.z[j] - soft.lse) * given.lse;
    if (values[j].empty()) continue;
    dz[j] += soft.weights[j] * (dot(d_out, values[j]) - mean);
    std::vector<double> dv = d_out;
    for (double& x : dv) x *= soft.weights[j];
    gradients.value(row, static_cast<std::int64_t>(j), std::move(dv), to);
  }
  if (row.layer.sinks && soft.lse != kUnseen) {
    to.sums.layer.add("sinks", {row.h}, -mean / (1.0 + std::exp(soft.lse - soft.sink)));
  }
  return dz;
}

void backward_row(FormulaScores& scores, FormulaGradients& gradients, Gradients& sums, const AttendBackwardArgs& args,
                  Row& row) {
  const LayerPlan& layer = row.layer;
  const SoftmaxRow soft = softmax_row(scores, row);
  RowGradient to{sums, std::vector<double>(index(layer.head_dim)), std::vector<double>(soft.z.size())};
  const std::vector<double> dz = softmax_backward(scores, gradients, row, soft, given_for(args, row), to);
  for (std::size_t j = 0; j < dz.size(); ++j) {
    if (dz[j] == 0.0) continue;  // unseen, or without weight: what is infinite there stays out
    const auto key = static_cast<std::int64_t>(j);
    const double dy = through_cap(layer.soft_cap, SoftCap::Order::after_bias, soft.z[j], dz[j]);
    if (!args.inputs.bias.empty()) add_bias(sums.bias, args.inputs.bias, row, key, dy);
    gradients.bias(row, key, dy, to);
    to.x[j] += through_cap(layer.soft_cap, SoftCap::Order::before_bias, soft.x_capped[j], dy);
  }
  for (std::size_t j = 0; j < dz.size(); ++j) {
    if (to.x[j] != 0.0) gradients.content(row, static_cast<std::int64_t>(j), soft.scale * to.x[j], to);
  }
  to.add_query(row);
}

}  // namespace

bool attend_backward(const LayerPlan& layer, const AttendBackwardArgs& args) {
  const AttendArgs forward = forward_call(args);
  check_backward(layer, forward, args);
  FormulaScores scores(layer, forward);
  Gradients sums(layer, args);
  FormulaGradients gradients(layer, forward, sums);
  for (const Sequence& sequence : sequences_of(layer, forward)) {
    scores.begin(sequence);
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      for (std::int64_t i = 0; i < sequence.q.rows(); ++i) {
        if (args.keep_going && !args.keep_going()) return false;
        Row row{.layer = layer, .args = forward, .sequence = sequence, .h = h, .i = i};
        backward_row(scores, gradients, sums, args, row);
      }
    }
  }
  sums.write();
  return true;
}

}  // namespace posenc::inline v0_2::reference
